"""The queue and the leads over HTTP: what is shown to whom, and what a command answers."""

from __future__ import annotations

import json
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from app.kernel.roles import Role
from app.web.pagination import cursor_of
from tests.factories.journeys import Lead, add_lead, say, take_lead
from tests.fixtures.site import Site
from tests.web.desks import HTMX, begin_with_a_campaign, now_of, sit_down


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the running application with a campaign and nobody in it."""
    await begin_with_a_campaign(module_site)
    return module_site


async def an_answer(site: Site, *, phone: str = "+60123000001", name: str = "Siti <b>Aminah</b>") -> Lead:
    """Let a lead come in and write to us."""
    now = await now_of(site)
    lead = await add_lead(site.database, phone=phone, name=name, at=now - timedelta(minutes=10))
    await say(site.database, phone=phone, text="How much is it?", now=now - timedelta(minutes=3))
    return lead


async def test_the_home_of_an_adviser_is_the_queue_and_it_says_so_when_nobody_waits(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    home = await aina.get("/")
    assert (home.status_code, home.headers["location"]) == (303, "/queue")
    page = await aina.get("/queue")
    assert page.status_code == 200
    assert "Nobody is waiting for you." in page.text


async def test_a_lead_who_answered_stands_in_the_queue_and_its_text_is_never_markup(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await an_answer(site)
    page = await aina.get("/queue")
    assert page.status_code == 200, page.text
    assert f'id="lead-{lead.contact_id}"' in page.text and "How much is it?" in page.text
    assert "<b>Aminah" not in page.text and "Siti &lt;b&gt;Aminah" in page.text
    assert "Take this lead" in page.text
    assert 'content="' in page.text and f"user:{aina.user_id}" in page.text and "pool" in page.text
    rows = await aina.get("/queue/rows", **HTMX)
    assert (
        rows.status_code == 200 and "<html" not in rows.text and f'id="lead-{lead.contact_id}"' in rows.text
    )
    panel = await aina.get(f"/leads/{lead.contact_id}/panel", **HTMX)
    assert panel.status_code == 200 and "Enquiry to visit" in panel.text
    nav = await aina.get("/shell?current=queue", **HTMX)
    assert nav.status_code == 200 and "1" in nav.text


async def test_the_lead_page_tells_the_story_and_refreshes_in_part(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await an_answer(site)
    page = await aina.get(f"/leads/{lead.contact_id}")
    assert page.status_code == 200, page.text
    text = unescape(page.text)
    for words in (
        "The lead answered",
        "Handed to a person",
        "Joined “Enquiry to visit”",
        "Campaign paused: they answered",
    ):
        assert words in text
    assert "+60 12-•••• 0001" in text and "+60123000001" not in text
    part = await aina.get(f"/leads/{lead.contact_id}/journey", **HTMX)
    assert part.status_code == 200 and "<html" not in part.text and "Handed to a person" in part.text


async def test_a_colleagues_lead_answers_as_if_there_were_none(site: Site) -> None:
    aina, farid = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "farid", Role.ADVISER)
    mei = await sit_down(site, "mei", Role.MANAGER)
    lead = await an_answer(site)
    handoff = await take_lead(
        site.database, contact_id=lead.contact_id, user_id=aina.user_id, now=await now_of(site)
    )
    url = f"/enrolments/{lead.enrolment_id}"
    for path in (
        f"/leads/{lead.contact_id}",
        f"/leads/{lead.contact_id}/panel",
        f"/leads/{lead.contact_id}/journey",
    ):
        assert (await farid.get(path)).status_code == 404
        assert (await mei.get(path)).status_code == 200
    assert (await farid.get(f"/handoffs/{handoff}/outcome/new")).status_code == 404
    assert (await farid.get(f"/handoffs/{handoff}/assignment/new")).status_code == 403
    for command in ("pause", "resume", "hold", "release", "close"):
        assert (await farid.post(f"{url}/{command}")).status_code == 403
    assert (await farid.get("/leads")).text.count("+60 12-•••• 0001") == 0
    assert (await mei.get("/leads")).text.count("+60 12-•••• 0001") == 1


async def test_a_marketer_works_no_leads_and_a_stranger_signs_in_first(site: Site) -> None:
    lead = await an_answer(site)
    omar = await sit_down(site, "omar", Role.MARKETER)
    for path in ("/queue", "/queue/rows", "/leads", f"/leads/{lead.contact_id}"):
        assert (await omar.get(path)).status_code == 403
        assert (await site.browser().get(path)).headers["location"].startswith("/sign-in")
    assert (await omar.post(f"/enrolments/{lead.enrolment_id}/pause")).status_code == 403


async def test_commands_move_the_journey_and_a_form_without_script_comes_back_to_the_lead(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    url = f"/enrolments/{lead.enrolment_id}"

    async def automation() -> tuple[Any, ...]:
        async with site.database.reading() as uow:
            found = await uow.execute(
                "SELECT automation, pause_reason FROM enrolments WHERE id = :id", {"id": lead.enrolment_id}
            )
            return tuple(found.one())

    paused = await aina.post(f"{url}/pause", reason="Family is travelling")
    assert paused.status_code == 204
    assert json.loads(paused.headers["hx-trigger"]) == {"resync": {}, "toast": {"text": "Paused."}}
    assert await automation() == ("paused", "Family is travelling")
    again = await aina.post(f"{url}/pause", reason="Twice")
    assert (again.status_code, "not running" in again.text) == (409, True)
    plain = await aina.post(f"{url}/resume", htmx=False)
    assert (plain.status_code, plain.headers["location"]) == (303, f"/leads/{lead.contact_id}")
    assert await automation() == ("active", None)
    await aina.post(f"{url}/hold", reason="Check")
    assert (await automation())[0] == "held"
    await aina.post(f"{url}/release")
    assert (await automation())[0] == "active"
    assert (await aina.post("/enrolments/999999/pause")).status_code == 404
    forged = await aina.browser.post(f"{url}/pause", {"reason": "x"})
    assert forged.status_code == 403


async def test_a_refused_command_leaves_a_line_in_the_audit_log_and_changes_nothing(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    url = f"/enrolments/{lead.enrolment_id}"
    assert (await aina.post(f"{url}/pause", reason="Family is travelling")).status_code == 204
    events = await site.count("SELECT count(*) FROM ledger")
    assert (await aina.post(f"{url}/pause", reason="Twice")).status_code == 409
    assert (await aina.post(f"{url}/release", htmx=False)).status_code == 409
    assert (await aina.post(f"{url}/pause", htmx=False, csrf_token="forged")).status_code == 403
    assert await site.count("SELECT count(*) FROM ledger") == events
    async with site.database.reading() as uow:
        rows = await uow.execute(
            "SELECT user_id, action, subject_kind, subject_id, data ->> 'why' <> '' AS says_why FROM audit_log "
            "WHERE refused ORDER BY id"
        )
        lines = [tuple(row) for row in rows]
    about = ("enrolment", str(lead.enrolment_id), True)
    assert lines == [(aina.user_id, "pause", *about), (aina.user_id, "release", *about)]


async def test_a_resume_gives_the_lead_back_and_closes_the_handoff(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await an_answer(site)
    await take_lead(site.database, contact_id=lead.contact_id, user_id=aina.user_id, now=await now_of(site))
    assert (await aina.post(f"/enrolments/{lead.enrolment_id}/resume")).status_code == 204
    assert (
        await site.count("SELECT count(*) FROM handoffs WHERE status = 'closed' AND outcome = 'resumed'") == 1
    )
    assert (
        await site.count(
            "SELECT count(*) FROM enrolments WHERE automation = 'active' AND stage = 'nurturing'"
        )
        == 1
    )


async def test_closing_asks_how_it_ended_and_keeps_what_was_chosen_when_it_does_not_fit(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    url = f"/enrolments/{lead.enrolment_id}/close"
    asked = await aina.post(url)
    assert (asked.status_code, asked.headers["hx-retarget"], "How did it end" in asked.text) == (
        200,
        "#dialog",
        True,
    )
    page = await aina.post(url, htmx=False)
    assert page.status_code == 200 and "<html" in page.text
    for form, words in (
        ({"outcome": "not_now"}, "Say until when"),
        ({"outcome": "not_now", "not_now_until": "2001-01-01"}, "lies ahead"),
        ({"outcome": "booked"}, "Choose how it ended"),
    ):
        refused = await aina.post(url, htmx=True, **form)
        assert refused.status_code == 422 and words in refused.text, form
    assert await site.count("SELECT count(*) FROM enrolments WHERE automation = 'completed'") == 0
    closed = await aina.post(url, outcome="lost")
    assert closed.status_code == 204
    assert (
        await site.count("SELECT count(*) FROM enrolments WHERE stage = 'closed' AND exit_reason = 'lost'")
        == 1
    )
    assert await site.count("SELECT count(*) FROM cooldowns WHERE reason = 'lost'") == 1
    assert (await aina.post(url, outcome="won")).status_code == 409


async def test_the_dialogs_of_a_handoff_are_fragments_with_script_and_pages_without(site: Site) -> None:
    aina, mei = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "mei", Role.MANAGER)
    lead = await an_answer(site)
    handoff = await take_lead(
        site.database, contact_id=lead.contact_id, user_id=aina.user_id, now=await now_of(site)
    )
    for path, person, words in (
        (f"/handoffs/{handoff}/outcome/new", aina, "How did it end"),
        (f"/handoffs/{handoff}/assignment/new", mei, "Back to the pool"),
    ):
        part = await person.get(path, **HTMX)
        assert part.status_code == 200 and words in part.text and "<html" not in part.text
        whole = await person.get(path)
        assert whole.status_code == 200 and words in whole.text and "<html" in whole.text
    form = (await aina.get(f"/handoffs/{handoff}/outcome/new", **HTMX)).text
    assert 'value="no_action"' not in form  # a campaign waits for this lead
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE handoffs SET status = 'closed', closed_at = now(), outcome = 'won'")
    assert (await aina.get(f"/handoffs/{handoff}/outcome/new", **HTMX)).status_code == 409


async def test_an_address_that_nobody_made_is_refused_and_never_an_error(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    for path, status in (
        ("/leads?before=forged", 422),
        (f"/leads?before={cursor_of((10**30,))}", 422),
        (f"/leads?before={cursor_of(('x',))}", 422),
        ("/leads/0", 404),
        ("/leads/99999999999999999999", 404),
        ("/leads/99999999999999999999/panel", 404),
        ("/leads/x", 404),
        ("/handoffs/99999999999999999999/outcome/new", 404),
        ("/queue?segment=%00&stage=%27", 200),
        ("/leads?q=%00a", 200),
        ("/leads?q=%25%5C%27&stage=nowhere", 200),
    ):
        assert (await aina.get(path)).status_code == status, path
    for nobodys in ("99999999999999999999", "-99999999999999999999", "0"):
        assert (await aina.post(f"/enrolments/{nobodys}/pause")).status_code == 404
        for command, form in (
            ("acceptance", {}),
            ("assignment", {"adviser_id": "me"}),
            ("outcome", {"outcome": "won"}),
        ):
            answer = await aina.post(f"/handoffs/{nobodys}/{command}", htmx=True, **form)
            assert answer.status_code == 404, (nobodys, command)
