"""Waiting for a turn, rests and the door for one lead over HTTP: what is shown to whom, and who may do what."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest

from app.campaigns.domain.vocabulary import Outcome
from app.campaigns.operations.enrol import EnrolRequest, WhenBusy, enrol
from app.campaigns.operations.operate import close_journey
from app.kernel.roles import Role
from tests.factories.journeys import Lead, add_lead, say
from tests.fixtures.site import Site
from tests.web.desks import Desk, begin_with_a_campaign, now_of, sit_down


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the running application with two campaigns and nobody in them."""
    await begin_with_a_campaign(module_site)
    async with module_site.database.transaction() as uow:
        await uow.execute(
            "INSERT INTO campaigns (id, program_id, key, name, current_version_id) "
            "VALUES (9, 1, 'holiday', 'Holiday club', 1)"
        )
    return module_site


async def waiting_lead(site: Site, *, phone: str = "+60123000001") -> Lead:
    """Let a lead be in one campaign and wait for the other."""
    now = await now_of(site)
    lead = await add_lead(site.database, phone=phone, at=now - timedelta(minutes=10))
    async with site.database.transaction() as uow:
        result = await enrol(
            uow,
            campaign_key="holiday",
            request=EnrolRequest(lead.contact_id, f"import:x:{phone}", when_busy=WhenBusy.WAIT),
            actor="import:3",
            now=now,
        )
    assert result.outcome == "waiting"
    return lead


async def close(site: Site, lead: Lead) -> None:
    """End the journey that runs: lost, so a rest begins."""
    now = await now_of(site)
    async with site.database.transaction() as uow:
        await close_journey(
            uow,
            contact_id=lead.contact_id,
            outcome=Outcome.LOST,
            not_now_until=None,
            actor="user:1",
            now=now,
        )
        await uow.execute(  # as the reaction to the end does in the application itself
            "UPDATE enrolment_requests SET reason = 'in_cooldown_until:x', not_before = (SELECT max(ends_at) FROM "
            "cooldowns d WHERE d.contact_id = enrolment_requests.contact_id) WHERE status = 'waiting'"
        )


async def request_id(site: Site) -> int:
    """Return the one request there is."""
    return await site.count("SELECT id FROM enrolment_requests")


async def page_of(desk: Desk, lead: Lead) -> str:
    """Return a lead's page as text."""
    page = await desk.get(f"/leads/{lead.contact_id}")
    assert page.status_code == 200
    return " ".join(unescape(page.text).split())


async def test_the_page_and_the_list_say_what_a_lead_waits_for(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await waiting_lead(site)
    text = await page_of(aina, lead)
    assert "Waiting for its turn: <b" in text
    assert "Holiday club</b>, after “Enquiry to visit” ends" in text
    assert "Asked for by import 3" in text and "if the turn has not come" in text
    assert "Enrol all the same" not in text, "nobody is thrown out of a campaign"
    listed = unescape((await aina.get("/leads")).text)
    assert "Waiting for its turn: Holiday club" in listed
    assert "Siti Aminah" in (await aina.get("/leads?stage=waiting")).text
    async with site.database.transaction() as uow:
        await uow.execute("DELETE FROM enrolment_requests")
    assert "Siti Aminah" not in (await aina.get("/leads?stage=waiting")).text


async def test_try_now_waits_on_where_somebody_is_in_the_way_and_says_why(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    await waiting_lead(site)
    answer = await aina.post(f"/enrolment-requests/{await request_id(site)}/try")
    assert answer.status_code == 204
    assert "They wait for their turn: they are in the campaign" in answer.headers["HX-Trigger"]
    assert await site.count("SELECT count(*) FROM enrolment_requests WHERE status = 'waiting'") == 1


async def test_a_manager_enrols_all_the_same_with_a_reason_and_an_adviser_may_not(site: Site) -> None:
    aina, mei = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "mei", Role.MANAGER)
    lead = await waiting_lead(site)
    await close(site, lead)
    number = await request_id(site)
    text = await page_of(aina, lead)
    assert "Holiday club</b>, not before" in text and "Rests until" in text
    assert ": their rest lasts longer." in text
    assert "Enrol all the same" not in text and "End their rest" not in text
    assert "Enrol all the same" in await page_of(mei, lead)
    refused = await aina.post(f"/enrolment-requests/{number}/try", reason="I want to")
    assert refused.status_code == 403
    still = await aina.post(f"/enrolment-requests/{number}/try")
    assert "they rest until" in still.headers["HX-Trigger"]
    came = await mei.post(f"/enrolment-requests/{number}/try", reason="They asked on the phone")
    assert "Enrolled in" in came.headers["HX-Trigger"]
    assert await site.count("SELECT count(*) FROM enrolments WHERE automation = 'active' AND campaign_id = 9")
    assert await site.count(
        "SELECT count(*) FROM audit_log WHERE action = 'turn_tried' AND user_id = :id "
        "AND data ->> 'override' = 'They asked on the phone'",
        id=mei.user_id,
    )
    assert await site.count(
        "SELECT count(*) FROM ledger WHERE type = 'enrolled' AND data ->> 'override' = 'They asked on the phone'"
    )
    assert (await mei.post(f"/enrolment-requests/{number}/try", reason="Again")).status_code == 409


@pytest.mark.parametrize("htmx", [True, False])
async def test_withdraw_ends_the_waiting_with_a_reason_also_without_script(site: Site, htmx: bool) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await waiting_lead(site)
    number = await request_id(site)
    answer = await aina.post(f"/enrolment-requests/{number}/withdraw", htmx=htmx, reason="They told me so")
    assert answer.status_code == (204 if htmx else 303)
    assert htmx or answer.headers["location"] == f"/leads/{lead.contact_id}"
    text = await page_of(aina, lead)
    assert "Waiting for its turn" not in text
    assert "Waits no more for “Holiday club”" in text and "They told me so" in text
    assert (await aina.post(f"/enrolment-requests/{number}/withdraw", reason="x")).status_code == 409
    assert (await aina.post("/enrolment-requests/999/withdraw", reason="x")).status_code == 404


async def test_a_colleagues_lead_is_not_ones_own_to_enrol_or_to_withdraw(site: Site) -> None:
    aina, farid = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "farid", Role.ADVISER)
    omar = await sit_down(site, "omar", Role.MARKETER)
    lead = await waiting_lead(site)
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE contacts SET owner_id = :id", {"id": aina.user_id})
    number = await request_id(site)
    for desk, status in ((farid, 403), (omar, 403)):
        for command in ("try", "withdraw"):
            answer = await desk.post(f"/enrolment-requests/{number}/{command}")
            assert answer.status_code == status
    for path in (f"/leads/{lead.contact_id}/enrolments", f"/leads/{lead.contact_id}/rest/lift"):
        assert (await farid.post(path, reason="x", campaign="holiday")).status_code in (403, 404)
        assert (await omar.post(path, reason="x", campaign="holiday")).status_code == 403
    assert (await site.browser().post(f"/enrolment-requests/{number}/try")).status_code in (303, 401, 403)
    assert await site.count("SELECT count(*) FROM enrolment_requests WHERE status = 'waiting'") == 1


async def test_a_manager_ends_a_rest_with_a_reason_and_an_adviser_may_not(site: Site) -> None:
    aina, mei = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "mei", Role.MANAGER)
    lead = await waiting_lead(site)
    await close(site, lead)
    url = f"/leads/{lead.contact_id}/rest/lift"
    assert "End their rest" in await page_of(mei, lead)
    assert (await aina.post(url, reason="x")).status_code == 403
    assert (await mei.post(url, reason=" ")).status_code == 422
    assert (await mei.post(url, reason="They wrote that they are ready")).status_code == 204
    text = await page_of(mei, lead)
    assert "Their rest was ended" in text and "They wrote that they are ready" in text
    assert "End their rest" not in text and "Holiday club</b>, next" in text
    assert (await mei.post(url, reason="Again")).status_code == 409
    assert (
        await site.count("SELECT count(*) FROM audit_log WHERE action = 'rest_lifted' AND NOT refused") == 1
    )


async def test_the_door_for_one_lead_asks_refuses_with_the_reason_and_lets_in_once(site: Site) -> None:
    aina, mei = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "mei", Role.MANAGER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    assert "/enrolments/new" not in await page_of(aina, lead), "one is live"
    await close(site, lead)
    assert "/enrolments/new" in await page_of(aina, lead)
    url = f"/leads/{lead.contact_id}/enrolments"
    for desk, overrides in ((aina, False), (mei, True)):
        asked = (await desk.get(f"{url}/new")).text
        assert "Holiday club" in asked and ('name="reason"' in asked) is overrides
    refused = await aina.post(url, campaign="holiday", token="a1")
    assert refused.status_code == 422 and "Not enrolled: they rest until" in unescape(refused.text)
    assert (await aina.post(url, campaign="nowhere", token="a1")).status_code == 422
    assert (await aina.post(url, campaign="holiday", token="a1", reason="Mine")).status_code == 403
    for said in ("Enrolled in", "runs for them already"):
        came = await mei.post(url, campaign="holiday", token="b2", reason="They called")
        assert came.status_code == 204 and said in came.headers["HX-Trigger"]
    assert await site.count("SELECT count(*) FROM enrolments WHERE campaign_id = 9") == 1
    assert await site.count("SELECT count(*) FROM ledger WHERE type = 'enrol_refused'") == 1
    assert await site.count(
        "SELECT count(*) FROM audit_log WHERE action = 'enrolled_by_hand' AND data ->> 'override' = 'They called'"
    )


async def test_who_talks_with_one_of_us_waits_for_the_end_of_the_conversation(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    await close(site, lead)
    async with site.database.transaction() as uow:
        await uow.execute("DELETE FROM cooldowns")
    await say(site.database, phone=lead.phone, text="A question", now=await now_of(site))
    answer = await aina.post(
        f"/leads/{lead.contact_id}/enrolments", campaign="holiday", token="c3", when_busy="wait"
    )
    assert "They wait for their turn: they talk with one of us" in answer.headers["HX-Trigger"]
    assert "Holiday club</b>, after the conversation with one of us" in await page_of(aina, lead)


async def test_the_length_of_a_rest_is_told_as_the_settings_say(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    async with site.database.transaction() as uow:
        await uow.execute("INSERT INTO settings (key, value) VALUES ('cooldowns', '{\"lost\": 14}')")
    asked = await aina.post(f"/enrolments/{lead.enrolment_id}/close")
    assert "A rest of 14 days begins." in asked.text
