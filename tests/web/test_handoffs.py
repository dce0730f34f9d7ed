"""What people may do with handoffs over HTTP, and how each asker is answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
import pytest

from app.config import Settings
from app.kernel.roles import Role
from app.web.csrf import session_token
from tests.fixtures.desk import Desk
from tests.fixtures.emptying import empty
from tests.fixtures.site import Browser, Site, running_site


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a browser."""

    user_id: int
    browser: Browser
    token: str

    async def post(self, path: str, *, htmx: bool = True, **form: str) -> httpx.Response:
        """Send one of our forms, by htmx or plainly from the queue."""
        headers = {"HX_Request": "true"} if htmx else {"Referer": f"{self.browser.url}/queue?part=now"}
        return await self.browser.post(path, {"csrf_token": self.token, **form}, **headers)


async def sit_down(site: Site, name: str, role: Role, *, capacity: int = 5) -> Person:
    """Make somebody with a seat and sign them in."""
    desk = Desk(site.database)
    user_id = await site.add_person(f"{name}@example.org", role)
    await desk.write(
        "INSERT INTO adviser_profiles (user_id, capacity) VALUES (:id, :capacity)",
        id=user_id,
        capacity=capacity,
    )
    browser = await site.signed_in(f"{name}@example.org")
    [row] = await desk.read("SELECT csrf_secret, token_hash FROM sessions WHERE user_id = :id", id=user_id)
    token = session_token(csrf_secret=row["csrf_secret"], session_hash=row["token_hash"])
    return Person(user_id, browser, token)


@pytest.fixture(scope="module")
async def module_site(module_settings: Settings) -> AsyncIterator[Site]:
    """Give the application with the screens of this slice."""
    async with running_site(module_settings) as site:
        yield site


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the running application without people and leads."""
    await module_site.reset()
    await empty(module_site.database, "contacts", "assignments")
    return module_site


@pytest.fixture
def desk(site: Site) -> Desk:
    """Give the tables behind the application."""
    return Desk(site.database)


async def test_an_adviser_takes_from_the_pool_and_the_slower_one_is_told_who_has_it(
    site: Site, desk: Desk
) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    ben = await sit_down(site, "ben", Role.ADVISER)
    handoff_id = await desk.handoff()
    taken = await aina.post(f"/handoffs/{handoff_id}/assignment", adviser_id="me")
    assert taken.status_code == 204
    assert json.loads(taken.headers["HX-Trigger"])["resync"] == {}
    too_late = await ben.post(f"/handoffs/{handoff_id}/assignment", adviser_id=str(ben.user_id))
    assert (too_late.status_code, "Aina has this lead" in too_late.text) == (409, True)
    assert (await desk.row(handoff_id))["owner_id"] == aina.user_id
    accepted = await aina.post(f"/handoffs/{handoff_id}/acceptance", htmx=False)
    assert (accepted.status_code, accepted.headers["Location"]) == (303, "/queue?part=now")


async def test_only_managers_move_leads_and_above_capacity_only_with_a_reason(site: Site, desk: Desk) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    ben = await sit_down(site, "ben", Role.ADVISER, capacity=0)
    mei = await sit_down(site, "mei", Role.MANAGER)
    path = f"/handoffs/{await desk.handoff()}/assignment"
    assert (await aina.post(path, adviser_id=str(ben.user_id))).status_code == 403
    assert (await aina.post(path, adviser_id="")).status_code == 403
    full = await mei.post(path, adviser_id=str(ben.user_id))
    assert (full.status_code, "0 of 0" in full.text) == (409, True)
    reasoned = await mei.post(path, adviser_id=str(ben.user_id), override_reason="Their family")
    assert reasoned.status_code == 204
    assert (await mei.post(path, adviser_id="nonsense")).status_code == 422
    assert (await mei.post(path, adviser_id="")).status_code == 204
    # In working hours routing may give it to somebody else by now.
    assert await desk.read("SELECT owner_id, override_reason FROM assignments ORDER BY id LIMIT 2") == [
        {"owner_id": ben.user_id, "override_reason": "Their family"},
        {"owner_id": None, "override_reason": None},
    ]


async def test_an_outcome_is_logged_by_the_owner_or_a_manager(site: Site, desk: Desk) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    ben = await sit_down(site, "ben", Role.ADVISER)
    handoff_id = await desk.handoff()
    path = f"/handoffs/{handoff_id}/outcome"
    await aina.post(f"/handoffs/{handoff_id}/assignment", adviser_id="me")
    assert (await ben.post(path, outcome="lost")).status_code == 403
    assert (await aina.post(path, outcome="")).status_code == 422
    assert (await aina.post(path, outcome="not_now", not_now_until="soon")).status_code == 422
    assert (await aina.post(path, outcome="not_now", not_now_until="2020-01-01")).status_code == 422
    assert (await desk.row(handoff_id))["status"] == "accepted"
    logged = await aina.post(path, outcome="not_now", not_now_until="2099-03-01", note="After the exams")
    assert logged.status_code == 204
    row = await desk.row(handoff_id)
    assert (row["outcome"], row["not_now_until"].isoformat()) == ("not_now", "2099-02-28T16:00:00+00:00")
    assert (await aina.post(path, outcome="lost")).status_code == 409


async def test_nothing_to_do_is_refused_while_a_campaign_waits(site: Site, desk: Desk) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    enrolled = await desk.handoff(await desk.enrolled_lead())
    other = await desk.handoff(await desk.lead(language="en"))
    assert (await aina.post(f"/handoffs/{enrolled}/outcome", outcome="no_action")).status_code == 422
    assert (await aina.post(f"/handoffs/{other}/outcome", outcome="no_action")).status_code == 204


async def test_the_own_switch_and_what_is_not_there(site: Site, desk: Desk) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    assert (await aina.post("/me/availability", htmx=False)).headers["Location"] == "/queue?part=now"
    assert await desk.read("SELECT taking_leads FROM adviser_profiles") == [{"taking_leads": False}]
    assert (await aina.post("/me/availability", is_taking="yes")).status_code == 204
    assert await desk.read("SELECT taking_leads FROM adviser_profiles") == [{"taking_leads": True}]
    for unknown in ("999", "9" * 30):
        assert (await aina.post(f"/handoffs/{unknown}/acceptance")).status_code == 404
        assert (await aina.post(f"/handoffs/{unknown}/outcome", outcome="won")).status_code == 404


async def test_a_marketer_works_no_leads(site: Site, desk: Desk) -> None:
    mira = await sit_down(site, "mira", Role.MARKETER)
    handoff_id = await desk.handoff()
    assert (await mira.post(f"/handoffs/{handoff_id}/assignment", adviser_id="me")).status_code == 403
    assert (await mira.post("/me/availability", is_taking="yes")).status_code == 403
