"""One lead's page: the journey in words, what comes next, what may be done, and who may see it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.advisers.operations.handoffs import record_answer
from app.campaigns.domain.vocabulary import Stim
from app.campaigns.operations.operate import operate
from app.db.session import Database
from app.kernel.errors import Invalid, NotFound
from app.kernel.roles import Role
from app.leads.queries.ledger import load_timeline
from app.leads.queries.listing import Wanted, load_leads
from app.leads.queries.page import load_lead, open_lead
from app.leads.queries.people import everybody_merged_into, find_person
from app.leads.views import LeadPage
from app.web.viewer import Viewer
from tests.factories.journeys import (
    MONDAY,
    Lead,
    add_lead,
    found_organisation,
    minutes,
    say,
    send_due,
    start_due,
    take_lead,
)

ZONE = "Asia/Kuala_Lumpur"
AINA = Viewer(1, "Aina Rahman", Role.ADVISER, ZONE, "t", "h")
FARID = Viewer(2, "Farid Osman", Role.ADVISER, ZONE, "t", "h")
MEI = Viewer(3, "Mei Tan", Role.MANAGER, ZONE, "t", "h")


@pytest.fixture
async def database(clean_database: Database) -> Database:
    """Give an organisation of this test's own."""
    await found_organisation(clean_database)
    return clean_database


async def page(
    database: Database, lead: Lead, *, now: datetime, viewer: Viewer = AINA, before: str | None = None
) -> LeadPage:
    """Return a lead's page."""
    async with database.reading() as uow:
        opened = await open_lead(uow, contact_id=lead.contact_id, viewer=viewer, now=now)
        return await load_lead(
            uow, lead=opened, organisation="Family programme", with_conversation=True, before=before, now=now
        )


async def test_the_whole_story_is_told_newest_first(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001", name="Siti Aminah")
    await send_due(database, now=MONDAY + timedelta(seconds=5))
    await say(database, phone=lead.phone, text="How much is it?", now=MONDAY + minutes(3))
    await take_lead(database, contact_id=lead.contact_id, user_id=1, now=MONDAY + minutes(4))
    async with database.transaction() as uow:
        await record_answer(uow, contact_id=lead.contact_id, user_id=1, now=MONDAY + minutes(6))
    shown = await page(database, lead, now=MONDAY + minutes(7))
    assert [(e.title, e.actor) for e in shown.timeline] == [
        ("Aina Rahman answered", "Aina Rahman"),
        ("Aina Rahman takes care", "Aina Rahman"),
        ("Aina Rahman has the lead", "Aina Rahman"),
        ("Handed to a person", "The lead"),
        ("Campaign paused", "The lead"),
        ("The lead answered", "The lead"),
        ("“Welcome” sent", "The campaign"),
        ("“Welcome” on its way to the provider", "The campaign"),
        ("“Welcome” is due", "The campaign"),
        ("Nurture messages begin", "Import 1"),
        ("Joined “Enquiry to visit”", "Import 1"),
    ]
    assert shown.timeline[0].is_latest and not any(e.is_latest for e in shown.timeline[1:])
    assert shown.timeline[0].detail == "First reply, after 3 min of working time, in time"
    assert shown.timeline[5].detail == "“How much is it?”"
    assert (shown.stage, shown.automation, shown.automation_words) == (
        "Engaged", "paused", "Campaign paused: they answered"
    )  # fmt: skip
    assert [(s.label, s.note, s.is_current) for s in shown.stages] == [
        ("Engaged", "The lead answered", True),
        ("Nurturing", "Joined the campaign", False),
    ]
    assert {n.key for n in shown.nodes if n.is_current} == {"engaged"}
    assert {n.key for n in shown.nodes if n.is_visited} == {"nurturing"}
    assert shown.next_step is not None and shown.next_step.title == "Nothing by the campaign"
    assert shown.clock is not None and shown.clock.state == "waiting"
    assert shown.thread is not None and "How much is it?" in [
        getattr(i, "text", "") for i in shown.thread.items
    ]


async def test_the_next_step_is_named_with_its_time(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    before = await page(database, lead, now=MONDAY)
    assert before.next_step is not None
    assert (before.next_step.title, before.next_step.reason, before.next_step.at) == (
        "“Welcome”",
        "Due now",
        MONDAY,
    )
    sent_at = MONDAY + timedelta(seconds=5)
    await send_due(database, now=sent_at)
    after = await page(database, lead, now=MONDAY + minutes(1))
    assert after.next_step is not None
    assert (after.next_step.title, after.next_step.at) == ("“Nudge”", sent_at + timedelta(days=2))
    assert after.position == "Message 1 of 3"


async def test_why_nothing_went_out_is_the_stored_verdict(database: Database) -> None:
    at_night = MONDAY - timedelta(hours=3)  # 06:00 in Kuala Lumpur
    lead = await add_lead(database, phone="+60123000001", at=at_night)
    assert await start_due(database, now=at_night) == []
    shown = await page(database, lead, now=at_night + minutes(1))
    assert [v.words for v in shown.verdicts] == [
        "“Welcome” waits: quiet hours where they live: nothing goes out between 21:00 and 08:00, until today 08:00"
    ]
    assert shown.next_step is not None and shown.next_step.at == MONDAY - timedelta(hours=1)


async def test_a_kill_switch_and_a_paused_campaign_are_named(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    async with database.transaction() as uow:
        await uow.execute("INSERT INTO kill_switches VALUES ('global', 'an incident', 'user:3', now())")
        await uow.execute("UPDATE campaigns SET status = 'paused'")
    shown = await page(database, lead, now=MONDAY)
    assert shown.next_step is not None
    assert shown.next_step.reason == "All sending is stopped by the kill switch; the campaign is paused"
    assert shown.automation_words == "Campaign paused for everybody"


async def test_the_actions_fit_the_state_and_are_only_for_those_who_may(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")

    async def actions(viewer: Viewer = AINA) -> list[str]:
        return [a.key for a in (await page(database, lead, now=MONDAY + minutes(9), viewer=viewer)).actions]

    async def command(stim: Stim) -> None:
        async with database.transaction() as uow:
            await operate(
                uow,
                enrolment_id=lead.enrolment_id,
                stim=stim,
                actor="user:1",
                reason="On holiday",
                now=MONDAY,
            )

    assert await actions() == ["pause", "hold", "close"]
    await command(Stim.OPERATOR_PAUSED)
    assert await actions() == ["resume", "hold", "close"]
    await command(Stim.OPERATOR_HELD)
    assert await actions() == ["release", "close"]
    await command(Stim.OPERATOR_RELEASED)
    await command(Stim.OPERATOR_RESUMED)
    await say(database, phone=lead.phone, text="Hi", now=MONDAY + minutes(3))
    assert await actions() == ["resume", "hold"]  # with a handoff the outcome is logged there
    await take_lead(database, contact_id=lead.contact_id, user_id=1, now=MONDAY + minutes(4))
    assert await actions(MEI) == ["resume", "hold"]
    shown = await page(database, lead, now=MONDAY + minutes(9), viewer=MEI)
    assert (shown.can_assign, shown.can_take, shown.handoff_id is not None) == (True, False, True)
    titles = [e.title for e in shown.timeline]
    assert titles.count("Campaign paused") == 2 and "Journey held" in titles and "Hold released" in titles


async def test_a_colleagues_lead_is_not_shown_and_an_unknown_one_neither(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    await say(database, phone=lead.phone, text="Hi", now=MONDAY + minutes(3))
    assert (await page(database, lead, now=MONDAY, viewer=FARID)).can_take
    await take_lead(database, contact_id=lead.contact_id, user_id=1, now=MONDAY + minutes(4))
    with pytest.raises(NotFound):
        await page(database, lead, now=MONDAY, viewer=FARID)
    with pytest.raises(NotFound):
        await page(database, Lead(999, 999, ""), now=MONDAY)


async def test_a_merged_contacts_journey_is_told_with_the_survivors(database: Database) -> None:
    gone = await add_lead(database, phone="+60123000001", name="Siti")
    lead = await add_lead(database, phone="+60123000002", name="Siti Aminah")
    async with database.transaction() as uow:
        await uow.execute(
            "UPDATE contacts SET merged_into = :lead WHERE id = :gone",
            {"lead": lead.contact_id, "gone": gone.contact_id},
        )
    shown = await page(database, gone, now=MONDAY)
    assert shown.contact_id == lead.contact_id
    assert [e.title for e in shown.timeline].count("Joined “Enquiry to visit”") == 2
    async with database.reading() as uow:
        assert await everybody_merged_into(uow, contact_id=lead.contact_id) == (
            gone.contact_id,
            lead.contact_id,
        )
        for text in (gone.phone, str(gone.contact_id), "012-300 0002"):
            assert await find_person(uow, text=text, default_country="MY") == lead.contact_id


async def test_people_are_found_by_phone_email_external_id_or_id(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    other = await add_lead(database, phone="+60123000002")
    async with database.transaction() as uow:
        for contact, kind, value in (
            (lead, "email", "siti@example.org"),
            (lead, "external", "CRM-9"),
            (other, "external", str(lead.contact_id)),
        ):
            await uow.execute(
                "INSERT INTO contact_identities (contact_id, kind, value, created_at) "
                "VALUES (:id, :kind, :value, now())",
                {"id": contact.contact_id, "kind": kind, "value": value},
            )
    async with database.reading() as uow:
        for text in ("+60123000001", " 012-3000001", "Siti@Example.ORG", "CRM-9"):
            assert await find_person(uow, text=text, default_country="MY") == lead.contact_id
        with pytest.raises(Invalid, match="Several contacts"):
            await find_person(uow, text=str(lead.contact_id), default_country="MY")
        for nobody in ("012-9999999", "nobody@example.org", "", "9" * 30):
            with pytest.raises(NotFound):
                await find_person(uow, text=nobody, default_country="MY")


async def test_the_timeline_is_read_page_by_page_and_nothing_twice(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    await send_due(database, now=MONDAY + timedelta(seconds=5))
    seen: list[str] = []
    before: str | None = None
    async with database.reading() as uow:
        while True:
            part = await load_timeline(
                uow, people=[lead.contact_id], zone=ZONE, now=MONDAY, before=before, size=2
            )
            seen += [event.key for event in part.rows]
            before = part.next_cursor
            if before is None:
                break
        everything = await load_timeline(uow, people=[lead.contact_id], zone=ZONE, now=MONDAY)
        with pytest.raises(Invalid):
            await load_timeline(uow, people=[lead.contact_id], zone=ZONE, now=MONDAY, before="forged")
    assert seen == [event.key for event in everything.rows] and len(seen) == 5


async def test_erased_values_leave_the_event(database: Database) -> None:
    lead = await add_lead(database, phone="+60123000001")
    await say(database, phone=lead.phone, text="My secret", now=MONDAY + minutes(3))
    async with database.transaction() as uow:
        await uow.execute("DELETE FROM messages")
    shown = await page(database, lead, now=MONDAY + minutes(4))
    [answered] = [e for e in shown.timeline if e.title == "The lead answered"]
    assert answered.detail == ""


async def test_the_list_is_searched_by_name_and_number_and_shows_only_whom_one_may_see(
    database: Database,
) -> None:
    siti = await add_lead(database, phone="+60123000001", name="Siti Aminah")
    mei = await add_lead(database, phone="+60129876543", name="Mei 100% Tan")
    theirs = await add_lead(database, phone="+60123000003", name="Siti of Farid")
    await say(database, phone=theirs.phone, text="Hi", now=MONDAY + minutes(3))
    await take_lead(database, contact_id=theirs.contact_id, user_id=2, now=MONDAY + minutes(4))

    async def found(viewer: Viewer = AINA, search: str = "", stage: str = "") -> list[object]:
        async with database.reading() as uow:
            wanted = Wanted.read(search=search, stage=stage, before="")
            return [row.contact_id for row in (await load_leads(uow, viewer=viewer, wanted=wanted)).rows]

    assert await found() == [mei.contact_id, siti.contact_id]
    assert await found(MEI) == [theirs.contact_id, mei.contact_id, siti.contact_id]
    assert await found(search="siti") == [siti.contact_id]
    assert await found(search="0%") == [mei.contact_id]
    assert await found(search="_") == []
    assert await found(search="012-987 6543") == [mei.contact_id]
    assert await found(search="98765") == [mei.contact_id]
    assert await found(MEI, stage="engaged") == [theirs.contact_id]
    assert await found(search="12") == []  # two digits are looked for in names


async def test_the_list_goes_on_by_its_cursor(database: Database) -> None:
    async with database.transaction() as uow:
        await uow.execute(
            "INSERT INTO contacts (name, language, owner_id, created_at, updated_at) "
            "SELECT 'Lead ' || n, 'en', 1, now(), now() FROM generate_series(1, 60) n"
        )
    async with database.reading() as uow:
        first = await load_leads(uow, viewer=AINA, wanted=Wanted())
        assert first.next_url is not None and len(first.rows) == 50
        cursor = first.next_url.partition("before=")[2]
        second = await load_leads(uow, viewer=AINA, wanted=Wanted.read(search="", stage="", before=cursor))
    shown = [row.name for row in (*first.rows, *second.rows)]
    assert shown == [f"Lead {n}" for n in range(60, 0, -1)] and second.next_url is None
