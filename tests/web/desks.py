"""People at their browsers, and an application with a campaign and nobody in it."""

from __future__ import annotations

from datetime import datetime

import httpx

from app.kernel.roles import Role
from app.web.csrf import session_token
from tests.factories.journeys import found_campaign
from tests.fixtures.site import Browser, Site

HTMX = {"HX_Request": "true"}


class Desk:
    """One person at a browser."""

    def __init__(self, browser: Browser, token: str, user_id: int) -> None:
        self.browser = browser
        self.token = token
        self.user_id = user_id

    async def get(self, path: str, **headers: str) -> httpx.Response:
        """Fetch a page."""
        return await self.browser.get(path, **headers)

    async def post(self, path: str, *, htmx: bool = True, **form: str) -> httpx.Response:
        """Send one of our forms."""
        headers = HTMX if htmx else {}
        return await self.browser.post(path, {"csrf_token": self.token, **form}, **headers)


async def sit_down(site: Site, name: str, role: Role) -> Desk:
    """Make somebody and sign them in; advisers get a seat."""
    user_id = await site.add_person(f"{name}@example.org", role)
    if role is Role.ADVISER:
        async with site.database.transaction() as uow:
            await uow.execute("INSERT INTO adviser_profiles (user_id) VALUES (:id)", {"id": user_id})
    browser = await site.signed_in(f"{name}@example.org")
    async with site.database.reading() as uow:
        found = await uow.execute(
            "SELECT csrf_secret, token_hash FROM sessions WHERE user_id = :id", {"id": user_id}
        )
        row = found.one()
    return Desk(browser, session_token(csrf_secret=row.csrf_secret, session_hash=row.token_hash), user_id)


async def begin_with_a_campaign(site: Site) -> None:
    """Empty the application and make a campaign with nobody in it."""
    await site.begin_anew()
    await found_campaign(site.database)


async def now_of(site: Site) -> datetime:
    """Return the site's business time."""
    async with site.database.reading() as uow:
        moment: datetime = (await uow.execute("SELECT clock_timestamp()")).scalar_one()
    return moment
