"""The composition root: every wire of the web process is visible here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from litestar import Litestar
from litestar.types import ASGIApp, ControllerRouterHandler
from redis.asyncio import Redis

from app.accounts.controllers import HomeController, PreferenceController, SessionController
from app.accounts.operations import recognise
from app.accounts.passwords import Passwords
from app.accounts.queries import open_among
from app.accounts.refusals import refusals_noted
from app.advisers.controllers import handoff_screens
from app.campaigns.controllers.webhooks import TwilioWebhooks
from app.campaigns.imports.controllers import ImportController
from app.campaigns.queries import has_live_enrolment
from app.clock import Clock, DemoClock, DemoReading
from app.config import PROJECT_ROOT, Settings
from app.db.session import Database, make_engine
from app.demo.controllers import DemoClockController
from app.demo.phones import PhoneGuide
from app.inbox.controllers import InboxController
from app.kernel.hints import HintPort
from app.kernel.roles import Role
from app.kernel.soon import Soon
from app.leads.controllers.enrolments import EnrolmentController
from app.leads.controllers.leads import LeadController
from app.leads.controllers.reviews import ReviewController
from app.leads.controllers.waiting import DoorController, WaitingController
from app.logs import configure_logs
from app.queue.controllers import HandoffQuestions, QueueController
from app.queue.shell import WorkspaceShell
from app.reactions import Wiring, reactions
from app.realtime.arq_hints import ArqHints
from app.realtime.background_hints import BackgroundHints
from app.realtime.push import Pusher
from app.realtime.redis_rooms import RedisRooms, make_redis
from app.realtime.server import Realtime
from app.web.cookies import CookieRules
from app.web.correlation import Correlation
from app.web.dependencies import Wires
from app.web.errors import exception_handlers
from app.web.guards import Doorkeeper
from app.web.health import database_check, health_handler, redis_check
from app.web.rendering import make_environment
from app.web.security_headers import SecurityHeaders, security_headers
from app.web.shell import Place, ShellContext, ShellMaker
from app.web.static_files import static_handler
from app.web.viewer import Viewer

FORM_BYTES = 256 * 1024
"""The largest body that is read; the import's upload says its own limit."""

PLACES = (
    Place("queue", "Queue", "/queue", "list-ordered", (Role.ADVISER, Role.MANAGER)),
    Place("inbox", "Inbox", "/inbox", "message-circle", (Role.ADVISER, Role.MANAGER)),
    Place("leads", "Leads", "/leads", "contact", (Role.ADVISER, Role.MANAGER)),
    Place("import", "Import", "/imports", "file-up", (Role.MANAGER, Role.MARKETER), "manage"),
)
"""The navigation, in order. A place is added here when its page exists."""

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Pace:
    """How often the realtime part looks whether its listener and its people's sessions are still alive, in
    seconds.
    """

    beat: float = 5.0
    silence: float = 12.0
    recheck: float = 20.0


@dataclass(frozen=True, slots=True)
class Ports:
    """What the outside hands in: real ones in a process, smaller ones in tests."""

    hints: HintPort | None = None
    """None: hints in Redis."""
    shell_context: ShellContext | None = None
    """None: the counts and the switch of the real workspace."""
    passwords: Passwords = field(default_factory=Passwords)
    pace: Pace = field(default_factory=Pace)
    soon: Soon = field(default_factory=Soon)
    """Runs what no request waits for."""
    workspace: str = "Adviser workspace"
    more_screens: Sequence[ControllerRouterHandler] = ()


def create_app(settings: Settings | None = None, ports: Ports | None = None) -> ASGIApp:
    """Return the web application of a process: it opens its own connections and closes them at the end.

    Raises `ConfigError` if the environment cannot be run with.
    """
    if settings is None:
        configure_logs()
        settings = Settings.load()
    database = Database(make_engine(settings, application_name="warmline-web"))
    redis = make_redis(
        settings.redis_url,
        connect_seconds=settings.redis_connect_timeout_seconds,
        answer_seconds=settings.redis_answer_timeout_seconds,
    )
    clock = _clock()

    @asynccontextmanager
    async def connections(_: Litestar) -> AsyncIterator[None]:
        guides = await _guide(clock, database, settings) if settings.demo else []
        yield
        for guide in guides:
            guide.cancel()
        await asyncio.gather(*guides, return_exceptions=True)
        await redis.aclose()
        await database.engine.dispose()

    return build_app(
        settings=settings,
        database=database,
        clock=clock,
        redis=redis,
        ports=ports or Ports(),
        lifespan=[connections],
    )


def build_app(
    *,
    settings: Settings,
    database: Database,
    clock: Clock,
    redis: Redis,
    ports: Ports,
    lifespan: Sequence[Lifespan] = (),
) -> ASGIApp:
    """Return the web application over connections that belong to the caller."""
    cookie_rules = CookieRules.for_address(settings.public_base_url)
    rooms = RedisRooms(redis, beat_seconds=ports.pace.beat, silence_seconds=ports.pace.silence)
    pusher = Pusher.over(rooms)
    soon = ports.soon
    hints = BackgroundHints(ports.hints or ArqHints(redis), soon)
    database.react_to(reactions(Wiring(database=database, clock=clock, pusher=pusher, soon=soon)))

    async def find_viewer(secret: str) -> Viewer | None:
        return await recognise(database=database, secret=secret)

    async def still_open(token_hashes: Collection[str]) -> set[str]:
        async with database.reading() as uow:
            return await open_among(uow, token_hashes=token_hashes)

    realtime = Realtime(
        rooms=rooms,
        authenticate=find_viewer,
        still_open=still_open,
        cookie_name=cookie_rules.session,
        public_base_url=settings.public_base_url,
        recheck_seconds=ports.pace.recheck,
    )
    doorkeeper = Doorkeeper(
        find_viewer=find_viewer,
        cookies=cookie_rules,
        secret_key=settings.secret_key,
        public_base_url=settings.public_base_url,
    )
    shells = ShellMaker(
        database=database,
        clock=clock,
        places=PLACES,
        context=ports.shell_context or WorkspaceShell(clock),
        organisation=settings.organisation,
        workspace=ports.workspace,
        is_demo=settings.demo,
    )
    environment = make_environment(templates=PROJECT_ROOT / "templates", static=PROJECT_ROOT / "static")

    @asynccontextmanager
    async def realtime_running(_: Litestar) -> AsyncIterator[None]:
        await realtime.start()
        yield
        await pusher.close()
        await soon.close()
        await realtime.stop()

    wires = Wires(
        settings=settings,
        database=database,
        clock=clock,
        pusher=pusher,
        realtime=realtime,
        hints=hints,
        soon=soon,
        passwords=ports.passwords,
        cookie_rules=cookie_rules,
        shells=shells,
        environment=environment,
    )
    checks = {
        "database": database_check(database.engine),
        "redis": redis_check(redis),
        "realtime": realtime.check,
    }
    site = Litestar(
        route_handlers=[
            health_handler(checks, timeout_seconds=settings.health_timeout_seconds),
            static_handler(PROJECT_ROOT / "static"),
            *_controllers(settings),
            *ports.more_screens,
        ],
        guards=doorkeeper.guards(),
        dependencies=wires.dependencies(),
        exception_handlers=exception_handlers(wires.pages_for),
        after_exception=[refusals_noted(database)],
        request_max_body_size=FORM_BYTES,
        lifespan=[*lifespan, realtime_running],
        openapi_config=None,
        logging_config=None,
    )
    headers = security_headers(public_base_url=settings.public_base_url)
    return Correlation(SecurityHeaders(realtime.asgi(site), headers=headers))


def _controllers(settings: Settings) -> list[ControllerRouterHandler]:
    """Return every screen. A new one is one line here; what exists in the demo only stands apart."""
    screens: list[ControllerRouterHandler] = [
        HomeController,
        SessionController,
        PreferenceController,
        QueueController,
        HandoffQuestions,
        handoff_screens(live_enrolment=has_live_enrolment),
        InboxController,
        LeadController,
        EnrolmentController,
        WaitingController,
        DoorController,
        ReviewController,
        ImportController,
        TwilioWebhooks,
    ]
    demo: list[ControllerRouterHandler] = [DemoClockController]
    return [*screens, *(demo if settings.demo else [])]


def _clock() -> DemoClock:
    """Return a clock that shows real time until the demo's row says otherwise."""
    start = datetime.fromtimestamp(0, UTC)
    return DemoClock(DemoReading(real_base=start, demo_base=start, rate=1.0))


async def _guide(clock: DemoClock, database: Database, settings: Settings) -> list[asyncio.Task[None]]:
    """Follow the demo clock, and keep the simulator's phones in step with it."""
    guide = PhoneGuide(database=database, clock=clock, simulator_url=settings.simulator_url)
    follower = guide.follower()
    await follower.refresh()
    return [asyncio.create_task(follower.run()), asyncio.create_task(guide.run())]
