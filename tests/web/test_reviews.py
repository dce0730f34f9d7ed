"""Reviews over HTTP: a person says what became of a message, and the journey goes on from there."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.reap import LookUps, reap
from app.kernel.roles import Role
from app.messaging.gateways.base import Unknown
from tests.factories.journeys import Lead, add_lead, start_due
from tests.fixtures.site import Site
from tests.web.desks import HTMX, begin_with_a_campaign, now_of, sit_down

AT_ONCE = LookUps(first_after=timedelta(0), second_after=timedelta(0))


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the running application with a campaign and nobody in it."""
    await begin_with_a_campaign(module_site)
    return module_site


async def a_doubtful_send(site: Site, *, phone: str = "+60123000001") -> tuple[Lead, int]:
    """Let the answer to a lead's first message get lost; return the lead and the review's id."""
    now = await now_of(site)
    lead = await add_lead(site.database, phone=phone, at=now)
    async with site.database.transaction() as uow:  # it is noon there, whenever these tests run
        await uow.execute(
            "UPDATE contacts SET time_zone = :zone WHERE id = :id",
            {"zone": f"Etc/GMT{now.hour - 12:+d}", "id": lead.contact_id},
        )
    calls = await start_due(site.database, now=now)
    lost = [CallOutcome(call.attempt_id, Unknown("time_out"), "finish") for call in calls]
    await settle_outcomes(site.database, lost, now=now)
    await reap(site.database, {}, now=now, look_ups=AT_ONCE)
    return lead, await site.count(
        "SELECT id FROM tasks WHERE kind = 'review' AND contact_id = :id", id=lead.contact_id
    )


async def one(site: Site, sql: str, **values: object) -> tuple[Any, ...]:
    """Return one row."""
    async with site.database.reading() as uow:
        return tuple((await uow.execute(sql, values)).one())


@pytest.mark.parametrize(
    ("verdict", "send", "step", "words"),
    [
        ("sent", "accepted", "wait_2d", "it was sent"),
        ("again", "waiting", "welcome", "send it again"),
        ("skip", "skipped", "wait_2d", "leave it out"),
    ],
)
async def test_the_answer_moves_the_send_and_the_journey_goes_on(
    site: Site, verdict: str, send: str, step: str, words: str
) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead, task = await a_doubtful_send(site)
    page = unescape((await aina.get(f"/leads/{lead.contact_id}")).text)
    for said in (
        "Was this message sent?",
        "“Welcome”",
        "+60 12-•••• 0001, WhatsApp",
        "the answer was lost",
        "Looked for once",
    ):
        assert said in page, said
    assert "the lead gets it twice" in page and "+60123000001" not in page
    assert "A person has to look: was “Welcome” sent?" in page
    answered = await aina.post(f"/reviews/{task}", verdict=verdict)
    assert answered.status_code == 204, answered.text
    assert set(json.loads(answered.headers["hx-trigger"])) == {"resync", "toast"}
    assert await one(site, "SELECT status FROM sends") == (send,)
    assert await one(site, "SELECT automation, step FROM enrolments") == ("active", step)
    assert await one(site, "SELECT done_by, outcome FROM tasks") == (f"user:{aina.user_id}", verdict)
    page = unescape((await aina.get(f"/leads/{lead.contact_id}")).text)
    assert "Was this message sent?" not in page
    if verdict != "sent":  # the word of acceptance lifts the hold by itself
        assert "Review done" in page and words.capitalize() in page


async def test_a_form_without_script_comes_back_to_the_lead_and_an_unknown_answer_changes_nothing(
    site: Site,
) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead, task = await a_doubtful_send(site)
    for unknown in ("", "burn"):
        assert (await aina.post(f"/reviews/{task}", verdict=unknown)).status_code == 422
    assert await one(site, "SELECT status, done_at FROM sends, tasks") == ("needs_review", None)
    forged = await aina.browser.post(f"/reviews/{task}", {"verdict": "sent"})
    assert forged.status_code == 403
    plain = await aina.post(f"/reviews/{task}", htmx=False, verdict="skip")
    assert (plain.status_code, plain.headers["location"]) == (303, f"/leads/{lead.contact_id}")
    for nobodys in ("0", "999999", "99999999999999999999"):
        assert (await aina.post(f"/reviews/{nobodys}", verdict="skip")).status_code == 404


async def test_of_two_reviewers_at_once_the_second_is_refused(site: Site) -> None:
    aina, mei = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "mei", Role.MANAGER)
    _, task = await a_doubtful_send(site)
    answers = await asyncio.gather(
        aina.post(f"/reviews/{task}", verdict="again"), mei.post(f"/reviews/{task}", verdict="skip")
    )
    assert sorted(answer.status_code for answer in answers) == [204, 409]
    won = "waiting" if answers[0].status_code == 204 else "skipped"
    assert await one(site, "SELECT status FROM sends") == (won,)
    assert (await mei.post(f"/reviews/{task}", verdict="sent")).status_code == 409
    assert await one(site, "SELECT status FROM sends") == (won,)


async def test_a_review_belongs_to_who_has_the_lead_and_to_managers(site: Site) -> None:
    aina, farid = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "farid", Role.ADVISER)
    mei, omar = await sit_down(site, "mei", Role.MANAGER), await sit_down(site, "omar", Role.MARKETER)
    lead, task = await a_doubtful_send(site)
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE contacts SET owner_id = :id", {"id": aina.user_id})
    assert (await omar.post(f"/reviews/{task}", verdict="skip")).status_code == 403
    assert (await farid.post(f"/reviews/{task}", verdict="skip")).status_code == 404
    assert (await farid.get(f"/reviews/{task}")).status_code == 404
    assert f"/reviews/{task}" not in (await farid.get("/queue")).text
    for person in (aina, mei):
        rows = await person.get("/queue")
        assert f'href="/reviews/{task}"' in rows.text
        shown = await person.get(f"/reviews/{task}")
        assert (shown.status_code, shown.headers["location"]) == (
            303,
            f"/leads/{lead.contact_id}",
        )
    assert (await mei.post(f"/reviews/{task}", verdict="skip")).status_code == 204
    assert (await aina.get(f"/reviews/{task}")).status_code == 409


async def test_an_advisers_own_message_is_theirs_to_answer_even_when_the_lead_has_moved_on(
    site: Site,
) -> None:
    aina, farid = await sit_down(site, "aina", Role.ADVISER), await sit_down(site, "farid", Role.ADVISER)
    now = await now_of(site)
    async with site.database.transaction() as uow:
        contact = (
            await uow.execute(
                "INSERT INTO contacts (name, language, owner_id, created_at, updated_at) "
                "VALUES ('Devi', 'en', :farid, :now, :now) RETURNING id",
                {"farid": farid.user_id, "now": now},
            )
        ).scalar_one()
        send = (
            await uow.execute(
                "INSERT INTO sends (idempotency_key, kind, contact_id, channel, sender_id, content, status, status_at, "
                "attempts, author_id, created_at) VALUES ('own', 'adviser', :contact, 'whatsapp', 1, "
                """CAST('{"text": "See you on Saturday"}' AS jsonb), 'needs_review', :now, 1, :aina, :now) """
                "RETURNING id",
                {"contact": contact, "aina": aina.user_id, "now": now},
            )
        ).scalar_one()
        await uow.execute(
            "INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, address, "
            "provider, outcome, looks, looked_at, started_at) VALUES ('at_own', :send, 1, 'l', now(), 'whatsapp', 1, "
            "'whatsapp:+60123000009', 'twilio', 'unknown', 2, now(), now() - interval '5 minutes')",
            {"send": send},
        )
        task = (
            await uow.execute(
                "INSERT INTO tasks (kind, subject, contact_id, owner_id, title, due_at, created_at) "
                "VALUES ('review', :subject, :contact, :aina, 'Was this message sent?', :now, :now) RETURNING id",
                {"subject": f"send:{send}", "contact": contact, "aina": aina.user_id, "now": now},
            )
        ).scalar_one()
    assert f'href="/reviews/{task}"' in (await aina.get("/queue")).text
    shown = await aina.get(f"/reviews/{task}")  # the lead's own page is Farid's by now
    assert shown.status_code == 200, shown.text
    for said in (
        "Aina's message",
        "See you on Saturday",
        "+60 12-•••• 0009",
        "Looked for 2 times, the last time 5 minutes",
    ):
        assert said in unescape(shown.text), said
    part = await farid.get(f"/leads/{contact}/journey", **HTMX)
    assert "See you on Saturday" in part.text and f"/reviews/{task}" in part.text
    answered = await aina.post(f"/reviews/{task}", htmx=False, verdict="sent")
    assert (answered.status_code, answered.headers["location"]) == (303, "/queue")
    assert await one(site, "SELECT status FROM sends") == ("accepted",)
    assert await one(site, "SELECT done_by, outcome FROM tasks") == (f"user:{aina.user_id}", "sent")


async def test_a_message_that_certainly_did_not_go_out_cannot_be_said_to_be_sent(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead, task = await a_doubtful_send(site)
    async with site.database.transaction() as uow:
        await uow.execute(
            "UPDATE send_attempts SET outcome = 'rejected', error_code = '21656', error_text = 'Bad'"
        )
        await uow.execute("UPDATE sends SET reason = 'The provider refused this message (21656).'")
    page = unescape((await aina.get(f"/leads/{lead.contact_id}")).text)
    assert "This message could not be sent" in page and "The provider refused this message (21656)." in page
    assert "It was sent" not in page and "the lead gets it twice" not in page
    assert (await aina.post(f"/reviews/{task}", verdict="sent")).status_code == 422
    assert (await aina.post(f"/reviews/{task}", verdict="again")).status_code == 204


async def test_a_journey_held_without_a_message_can_be_let_go(site: Site) -> None:
    aina = await sit_down(site, "aina", Role.ADVISER)
    lead = await add_lead(site.database, phone="+60123000001", at=await now_of(site))
    ref = f"enrolment:{lead.enrolment_id}:position:nurture/gone"
    async with site.database.transaction() as uow:
        await uow.execute(
            "UPDATE enrolments SET automation = 'held', held_from = 'active', hold_ref = 'position:nurture/gone', "
            "next_run_at = NULL"
        )
        await uow.execute(
            "INSERT INTO tasks (kind, subject, contact_id, enrolment_id, title, due_at, created_at) VALUES "
            "('review', :ref, :contact, :enrolment, 'It stands at a step that is not there.', now(), now())",
            {"ref": ref, "contact": lead.contact_id, "enrolment": lead.enrolment_id},
        )
    task = await site.count("SELECT id FROM tasks")
    page = (await aina.get(f"/leads/{lead.contact_id}")).text
    assert "It stands at a step" in page and "Let the journey go on" in page
    assert (await aina.post(f"/reviews/{task}", verdict="sent")).status_code == 422
    answered = await aina.post(f"/reviews/{task}", verdict="skip")
    assert (answered.status_code, "The journey goes on." in answered.headers["hx-trigger"]) == (204, True)
    assert await one(site, "SELECT automation FROM enrolments") == ("active",)
