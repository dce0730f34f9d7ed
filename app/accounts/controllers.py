"""Sign-in, sign-out, home, and a person's own choices of looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from litestar import Controller, Response, get, post
from litestar.connection import Request
from litestar.di import NamedDependency
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect

from app.accounts import operations
from app.accounts.domain import SESSION_LIFE, SignInRefused, TooManyTries
from app.accounts.forms import KeysForm, SignInForm, ThemeForm
from app.accounts.passwords import Passwords
from app.accounts.queries import DemoPerson, demo_people
from app.config import Settings
from app.db.session import Database
from app.kernel.errors import NotFound, WarmlineError
from app.kernel.origins import own_path
from app.realtime.server import Realtime
from app.web.client_address import client_address
from app.web.cookies import CookieRules
from app.web.csrf import form_token, new_form_secret
from app.web.guards import BEFORE_SESSION, PUBLIC
from app.web.pages import KEYS_COOKIE, THEME_COOKIE, Pages
from app.web.shell import ShellMaker
from app.web.viewer import Viewer, viewer_or_none

FORM_SECONDS = 12 * 3600
"""How long a sign-in form may stand open."""

AnyRequest = Request[Any, Any, Any]


class HomeController(Controller):
    """`/`: where the person's work begins."""

    @get("/")
    async def home(self, viewer: NamedDependency[Viewer], shells: NamedDependency[ShellMaker]) -> Redirect:
        """Lead to the first place that is open to the person."""
        return Redirect(shells.home_of(viewer), status_code=303)

    @get("/shell")
    async def shell(self, pages: NamedDependency[Pages], current: FromQuery[str] = "") -> Response[str]:
        """Return the navigation with fresh counts."""
        return await pages.page("layouts/shell_fragment.html", current=current[:40])


class SessionController(Controller):
    """Sessions: begun by the sign-in form or a demo button, ended by signing out."""

    @get("/sign-in", opt=PUBLIC)
    async def show(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        settings: NamedDependency[Settings],
        database: NamedDependency[Database],
        cookie_rules: NamedDependency[CookieRules],
        next: FromQuery[str] = "",
    ) -> Response[Any]:
        """Show the form, with a token bound to this browser."""
        if viewer_or_none(request) is not None:
            return Redirect(own_path(next) or "/", status_code=303)
        people = await _people(settings, database)
        return _form(request, pages, settings, cookie_rules, people=people, next_url=own_path(next) or "")

    @post("/sessions", opt=BEFORE_SESSION)
    async def begin(
        self,
        request: AnyRequest,
        data: URLEncodedBody[SignInForm],
        pages: NamedDependency[Pages],
        settings: NamedDependency[Settings],
        database: NamedDependency[Database],
        cookie_rules: NamedDependency[CookieRules],
        passwords: NamedDependency[Passwords],
    ) -> Response[Any]:
        """Begin a session and go on to where the person wanted to be; else show the form with what is
        wrong.
        """
        try:
            session = await _begin(request, data, settings=settings, database=database, passwords=passwords)
        except (SignInRefused, TooManyTries) as error:
            people = await _people(settings, database)
            return _form(
                request,
                pages,
                settings,
                cookie_rules,
                people=people,
                next_url=own_path(data.next) or "",
                email=data.email[:320],
                error=error,
            )
        await _end_former(request, database, cookie_rules)
        answer = Redirect(own_path(data.next) or "/", status_code=303)
        life = int(SESSION_LIFE.total_seconds())
        answer.set_cookie(cookie_rules.secret(cookie_rules.session, session.secret, max_age=life))
        answer.set_cookie(cookie_rules.gone(cookie_rules.before_session))
        return answer

    @post("/sessions/end")
    async def end(
        self,
        viewer: NamedDependency[Viewer],
        database: NamedDependency[Database],
        cookie_rules: NamedDependency[CookieRules],
        realtime: NamedDependency[Realtime],
    ) -> Redirect:
        """Sign out: the session ends in the database, its sockets are cut off, the cookie goes."""
        async with database.transaction() as uow:
            await operations.sign_out(uow, session_hash=viewer.session_hash)
        realtime.recheck_soon()
        answer = Redirect("/sign-in", status_code=303)
        answer.set_cookie(cookie_rules.gone(cookie_rules.session))
        return answer


class PreferenceController(Controller):
    """A person's looks and keys: kept in the browser, they are no secret."""

    @post("/me/theme")
    async def theme(
        self,
        request: AnyRequest,
        data: URLEncodedBody[ThemeForm],
        cookie_rules: NamedDependency[CookieRules],
    ) -> Redirect:
        """Keep the look and come back."""
        answer = Redirect(_came_from(request), status_code=303)
        answer.set_cookie(cookie_rules.preference(THEME_COOKIE, data.theme))
        return answer

    @post("/me/keys")
    async def keys(
        self, request: AnyRequest, data: URLEncodedBody[KeysForm], cookie_rules: NamedDependency[CookieRules]
    ) -> Redirect:
        """Switch single-letter keys on or off and come back."""
        answer = Redirect(_came_from(request), status_code=303)
        answer.set_cookie(cookie_rules.preference(KEYS_COOKIE, data.keys))
        return answer


async def _begin(
    request: AnyRequest, data: SignInForm, *, settings: Settings, database: Database, passwords: Passwords
) -> operations.NewSession:
    if data.demo_person:
        if not settings.demo:
            raise NotFound("Demo people exist only in the demo.")
        async with database.transaction() as uow:
            return await operations.sign_in_demo_person(uow, email=data.demo_person[:320])
    address = client_address(request, trusted_proxies=settings.trusted_proxies)
    return await operations.sign_in(
        database=database, passwords=passwords, email=data.email, password=data.password, address=address
    )


async def _end_former(request: AnyRequest, database: Database, cookie_rules: CookieRules) -> None:
    """End the session this browser had: its cookie is about to be replaced."""
    former = viewer_or_none(request)
    if former is not None:
        async with database.transaction() as uow:
            await operations.sign_out(uow, session_hash=former.session_hash)


async def _people(settings: Settings, database: Database) -> Sequence[DemoPerson]:
    if not settings.demo:
        return ()
    async with database.reading() as uow:
        return await demo_people(uow)


def _form(
    request: AnyRequest,
    pages: Pages,
    settings: Settings,
    cookie_rules: CookieRules,
    *,
    people: Sequence[DemoPerson],
    next_url: str,
    email: str = "",
    error: WarmlineError | None = None,
) -> Response[Any]:
    form_secret = request.cookies.get(cookie_rules.before_session) or new_form_secret()
    answer = pages.plain(
        "accounts/sign_in.html",
        status=error.status if error else 200,
        csrf_token=form_token(secret_key=settings.secret_key, form_secret=form_secret),
        email=email,
        problem=error.message if error else "",
        demo_people=people,
        next_url=next_url,
    )
    answer.set_cookie(cookie_rules.secret(cookie_rules.before_session, form_secret, max_age=FORM_SECONDS))
    if error and "retry_after_seconds" in error.facts:
        answer.headers["Retry-After"] = str(error.facts["retry_after_seconds"])
    return answer


def _came_from(request: AnyRequest) -> str:
    """Return the page a form was on: the path of the Referer, which only ever leads to ourselves."""
    _, _, rest = request.headers.get("referer", "").partition("://")
    _, slash, path = rest.partition("/")
    return own_path(slash + path) or "/"
