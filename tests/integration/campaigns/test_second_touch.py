"""A second touch: what comes with it is merged, consent only gets stricter or follows the person's own later word."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.campaigns.operations.enrol import EnrolRequest, EnrolResult, enrol
from app.contacts.domain import Information
from tests.fixtures.engine import World
from tests.integration.campaigns.steps import enrol_one, enrolment, told


async def come_again(world: World, lead: int, brought: Information, *, ref: str = "form:2") -> EnrolResult:
    """Come to the door with something new to say."""
    async with world.database.transaction() as uow:
        return await enrol(
            uow,
            campaign_key=world.campaign_key,
            request=EnrolRequest(lead, ref, information=brought),
            actor="form",
            now=world.now,
        )


async def contact(world: World, lead: int) -> Any:
    """Return a contact's row."""
    [row] = await world.rows("SELECT * FROM contacts WHERE id = :id", id=lead)
    return row


async def consent(world: World, lead: int, channel: str = "whatsapp") -> bool | None:
    """Return what a person last said about a channel."""
    rows = await world.rows(
        "SELECT granted FROM consents WHERE contact_id = :id AND channel = :channel", id=lead, channel=channel
    )
    return rows[0].granted if rows else None


async def test_a_list_fills_what_is_blank_and_the_journey_is_left_as_it_is(world: World) -> None:
    lead = await enrol_one(world)
    before = await enrolment(world, lead)
    await world.execute('UPDATE contacts SET attributes = \'{"child": "Adam"}\', time_zone = NULL')
    brought = Information(
        "list", name="Somebody Else", time_zone="Asia/Tokyo", attributes={"child": "B", "age": 6}
    )
    touch = await come_again(world, lead, brought)
    assert (touch.outcome, touch.enrolment_id) == ("touched", before.id)
    after = await contact(world, lead)
    assert (after.name, after.time_zone, after.attributes) == (
        "Aisyah Rahman",
        "Asia/Tokyo",
        {"child": "Adam", "age": 6},
    )
    assert await enrolment(world, lead) == before
    assert (await told(world, lead))[-1] == "touched"


async def test_a_persons_own_words_replace_what_was_known(world: World) -> None:
    lead = await enrol_one(world)
    await world.execute('UPDATE contacts SET attributes = \'{"child": "Adam", "age": 5}\'')
    await come_again(
        world, lead, Information("form", by_lead=True, language="ms", attributes={"age": 6, "school": "SK 1"})
    )
    after = await contact(world, lead)
    assert (after.language, after.attributes) == ("ms", {"child": "Adam", "age": 6, "school": "SK 1"})


@pytest.mark.parametrize("by_lead", [True, False])
async def test_a_no_always_counts(world: World, by_lead: bool) -> None:
    lead = await enrol_one(world)
    await come_again(world, lead, Information("list", by_lead=by_lead, consents={"whatsapp": False}))
    assert await consent(world, lead) is False


async def test_a_yes_counts_where_nothing_was_said_or_where_the_person_says_so_later(world: World) -> None:
    [lead] = await world.add_leads(1, consent=False)
    yes = Information("list", consents={"whatsapp": True, "email": True})
    assert (await come_again(world, lead, yes)).reason == "no_usable_channel"
    assert (await consent(world, lead), await consent(world, lead, "email")) == (False, True)
    world.clock.advance(timedelta(hours=1))
    own = Information("form", by_lead=True, consents={"whatsapp": True})
    assert (await come_again(world, lead, own)).outcome == "enrolled"
    assert await consent(world, lead) is True


async def test_H03_no_yes_opens_a_channel_that_is_closed(world: World) -> None:
    lead = await enrol_one(world)
    await world.reply(lead, "STOP")
    own = Information("form", by_lead=True, consents={"whatsapp": True})
    assert (await come_again(world, lead, own)).reason == "suppressed"
    assert await world.value("SELECT count(*) FROM suppressions WHERE lifted_at IS NULL") == 1


async def test_information_about_nobody_changes_nothing(world: World) -> None:
    brought = Information("form", by_lead=True, name="Nobody", consents={"whatsapp": True})
    assert (await come_again(world, 999_999, brought)).reason == "unknown_contact"
    assert await world.value("SELECT count(*) FROM consents") == 0
