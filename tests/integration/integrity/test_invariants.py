"""Each invariant finds the damage it is there for, and nothing in a sound organisation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from app.campaigns.domain.enrolment import COVERED, fold, to_json
from app.integrity.registry import INVARIANTS
from app.integrity.runner import check, look
from tests.integration.integrity.conftest import World

BY_ID = {invariant.id: invariant for invariant in INVARIANTS}

_SEND = "(SELECT id FROM sends WHERE enrolment_id = :enrolment AND kind = 'campaign')"
_ATTEMPT = (
    "INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, address, provider, "
    "provider_message_id, outcome) SELECT 'planted', s.id, 2, 'planted', clock_timestamp(), s.channel, 1, "
    "'x', 'twilio', {sid}, {outcome} FROM sends s WHERE s.enrolment_id = :enrolment"
)
_UNKNOWN_ATTEMPT = _ATTEMPT.format(sid="'SMplanted'", outcome="'unknown'")
_EVENT = (
    "INSERT INTO ledger (contact_id, enrolment_id, seq, type, at, actor, data, set) "
    "SELECT e.contact_id, e.id, e.ledger_seq + 1, '{type}', e.ledger_at, 'engine', "
    "CAST('{data}' AS jsonb), CAST('{set}' AS jsonb) FROM enrolments e WHERE e.id = :enrolment"
)
_COUNTED = "UPDATE enrolments SET ledger_seq = ledger_seq + 1 WHERE id = :enrolment"


def _event(type_: str, data: str = "{}", set_: str = "{}") -> tuple[str, str]:
    statement = _EVENT.replace("{type}", type_).replace("{data}", data).replace("{set}", set_)
    return statement.replace('":', '"\\:'), _COUNTED


# invariant, whose, statements. `:enrolment` and `:contact` are the victim's.
DAMAGE: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("I1", "two accepted attempts", "waiting", (_ATTEMPT.format(sid="'SMplanted'", outcome="'accepted'"),)),
    ("I1", "an unknown attempt with a provider's id", "waiting", (_UNKNOWN_ATTEMPT,)),
    ("I2", "a start after the pause", "engaged", _event("send_started", '{"attempt": "a"}')),
    (
        "I2",
        "a start after an exit that no pause came before",
        "waiting",
        (*_event("exited", set_='{"automation": "completed"}'), *_event("send_started", '{"attempt": "a"}')),
    ),
    ("I2", "an attempt the ledger never saw", "waiting", (_ATTEMPT.format(sid="NULL", outcome="'rejected'"),)),
    ("I3", "no lock and no timer", "waiting", ("UPDATE enrolments SET next_run_at = NULL WHERE id = :enrolment",)),
    (
        "I3",
        "a lock whose send is settled",
        "waiting",
        (f"UPDATE enrolments SET lock_token = 'send' || chr(58) || {_SEND} WHERE id = :enrolment",),
    ),
    ("I3", "a lock of no send", "waiting", ("UPDATE enrolments SET lock_token = 'lost' WHERE id = :enrolment",)),
    ("I3", "a park without a lease", "waiting", ("UPDATE enrolments SET lock_token = 'park' WHERE id = :enrolment",)),
    ("I5", "a pause in another transaction", "engaged", (
        "UPDATE signals SET processed_xid = '3' WHERE enrolment_id = :enrolment",
    )),
    (
        "I5",
        "no pause at all",
        "engaged",
        ("UPDATE ledger SET type = 'ignored' WHERE enrolment_id = :enrolment AND type = 'paused'",),
    ),
    ("I5", "nobody wrote down whether it was active", "engaged", (
        "UPDATE signals SET was_active = NULL, processed_xid = NULL WHERE enrolment_id = :enrolment",
    )),
    ("I6", "no address", "waiting", ("DELETE FROM contact_identities WHERE contact_id = :contact",)),
    (
        "I6",
        "a standing suppression",
        "engaged",
        (
            ("INSERT INTO suppressions (contact_id, channel, reason, source, created_at) "
            "VALUES (:contact, 'whatsapp', 'operator', 'x', now())"),
        ),
    ),
    (
        "I6",
        "begun inside a cool-down",
        "waiting",
        (
            ("INSERT INTO cooldowns (contact_id, reason, starts_at, ends_at, created_by) "
            "SELECT contact_id, 'lost', created_at - interval '1 day', created_at + interval '1 day', 'x' "
            "FROM enrolments WHERE id = :enrolment"),
        ),
    ),
    ("I7", "no clock", "engaged", (
        "ALTER TABLE handoffs DROP CONSTRAINT ck_handoffs_clock",
        "UPDATE handoffs SET due_at = NULL, waiting_since = NULL WHERE contact_id = :contact",
    )),
    ("I8", "above capacity without an override", "engaged", (
        "UPDATE assignments SET load_seen = 40, capacity_seen = 40, override_by = NULL WHERE contact_id = :contact",
    )),
    ("I10", "a number is missing", "waiting", ("DELETE FROM ledger WHERE enrolment_id = :enrolment AND seq = 2",)),
    ("I10", "the record is ahead", "waiting", (_COUNTED,)),
    ("I10", "events of no enrolment", "waiting", ("DELETE FROM enrolments WHERE id = :enrolment",)),
    ("I10", "no events", "waiting", ("DELETE FROM ledger WHERE enrolment_id = :enrolment",)),
    ("I11", "a step the version does not have", "waiting", (
        "UPDATE sends SET step = 'gone' WHERE enrolment_id = :enrolment",
    )),
    ("I11", "a wait is no message", "waiting", ("UPDATE sends SET step = 'wait_2d' WHERE enrolment_id = :enrolment",)),
    ("I11", "no version", "waiting", ("UPDATE sends SET version_id = NULL WHERE enrolment_id = :enrolment",)),
    ("I12", "delivered, then accepted", "waiting", (
        ("WITH s AS (SELECT id, contact_id FROM sends WHERE enrolment_id = :enrolment) "
        "INSERT INTO ledger (contact_id, type, at, actor, data) "
        "SELECT contact_id, t.type, now(), 'provider', jsonb_build_object('send_id', id) "
        "FROM s, (VALUES (1, 'read'), (2, 'delivered')) t(n, type) ORDER BY n"),
    )),
    ("I12", "accepted without an accepted attempt", "waiting", (
        f"UPDATE send_attempts SET outcome = 'rejected' WHERE send_id = {_SEND}",
    )),
    ("I12", "queued again after it was accepted", "waiting", (
        "UPDATE sends SET status = 'queued' WHERE enrolment_id = :enrolment",
    )),
]  # fmt: skip

# One way for each column that the ledger covers to differ from it.
CHANGED: dict[str, str] = {
    name: "now()" if name.endswith(("_at", "_from")) else "77" for name in COVERED
} | {
    "stage": "'attended'", "automation": "'paused'", "path": "'rebook'", "step": "'nudge'", "return_stage": "'booked'",
    "return_path": "'rebook'", "return_step": "'nudge'", "held_from": "'paused'", "hold_ref": "'x'",
    "pause_reason": "'x'", "exit_reason": "'x'",
}  # fmt: skip


async def test_a_sound_organisation_has_no_violation_and_nothing_stuck(world: World) -> None:
    report = await look(world.database)
    found = [o for finding in (*report.invariants, *report.stuck) for o in finding.offenders]
    assert (report.violations, report.stuck_count, found) == (0, 0, [])
    assert list(report.as_json()["invariants"]) == [  # type: ignore[call-overload]
        "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I10", "I11", "I12"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("invariant", "whose", "statements"),
    [pytest.param(id_, whose, statements, id=f"{id_} {what}") for id_, what, whose, statements in DAMAGE],
)
async def test_damage_is_found(world: World, invariant: str, whose: str, statements: tuple[str, ...]) -> None:
    victim = world.waiting if whose == "waiting" else world.engaged
    async with world.damaged(*statements, enrolment=victim.enrolment_id, contact=victim.contact_id) as uow:
        finding = await check(uow, BY_ID[invariant])
    assert {offender.contact_id for offender in finding.offenders} == {victim.contact_id}
    assert all(offender.detail for offender in finding.offenders)


@pytest.mark.parametrize("column", COVERED)
async def test_I4_compares_every_covered_column(world: World, column: str) -> None:
    async with world.damaged(
        f"UPDATE enrolments SET {column} = {CHANGED[column]} WHERE id = :enrolment",
        enrolment=world.waiting.enrolment_id,
    ) as uow:
        finding = await check(uow, BY_ID["I4"])
    assert [o.contact_id for o in finding.offenders] == [world.waiting.contact_id]
    assert finding.offenders[0].detail.endswith(f"differs in {column}")


async def test_I4_the_fold_in_Python_gives_what_the_fold_in_SQL_accepts(world: World) -> None:
    async with world.database.reading() as uow:
        for lead in (world.waiting, world.engaged):
            events = await uow.execute(
                "SELECT set FROM ledger WHERE enrolment_id = :id ORDER BY seq", {"id": lead.enrolment_id}
            )
            folded = {**dict.fromkeys(COVERED), **fold([row.set for row in events])}
            stored = (
                (await uow.execute("SELECT * FROM enrolments WHERE id = :id", {"id": lead.enrolment_id}))
                .mappings()
                .one()
            )
            assert {name: _moment(folded[name]) for name in COVERED} == {
                name: _moment(to_json(stored[name])) for name in COVERED
            }


async def test_I4_an_enrolment_without_events_is_found(world: World) -> None:
    statement = "DELETE FROM ledger WHERE enrolment_id = :id"
    async with world.damaged(statement, id=world.waiting.enrolment_id) as uow:
        finding = await check(uow, BY_ID["I4"])
    assert [o.detail for o in finding.offenders] == [
        f"enrolment {world.waiting.enrolment_id}: not in the ledger"
    ]


async def test_I6_an_override_or_an_exempt_campaign_may_begin_inside_a_cool_down(world: World) -> None:
    inside = (
        "INSERT INTO cooldowns (contact_id, reason, starts_at, ends_at, created_by) "
        "SELECT contact_id, 'lost', created_at - interval '1 day', created_at + interval '1 day', 'x' FROM enrolments"
    )
    override = (
        "UPDATE ledger SET data = data || jsonb_build_object('override', 'asked to be written to') "
        "WHERE type = 'enrolled' AND enrolment_id = :id"
    )
    async with world.damaged(inside, override, id=world.waiting.enrolment_id) as uow:
        finding = await check(uow, BY_ID["I6"])
        assert [o.contact_id for o in finding.offenders] == [world.engaged.contact_id]
        await uow.execute(
            "UPDATE campaigns SET cooldown_exempt = true, cooldown_exempt_reason = 'An apology'"
        )
        assert (await check(uow, BY_ID["I6"])).count == 0


async def test_I6_a_cool_down_that_was_lifted_or_not_yet_written_when_it_began_is_not_held_against_it(
    world: World,
) -> None:
    around = (
        "INSERT INTO cooldowns (contact_id, reason, starts_at, ends_at, created_by, written_at, lifted_at, lifted_by, "
        "lift_reason) SELECT contact_id, 'lost', created_at - interval '1 day', created_at + interval '1 day', 'x', "
        "{written}, {lifted}, 'x', 'x' FROM enrolments"
    )
    for written, lifted, found in (
        ("NULL", "created_at + interval '1 hour'", 2),
        ("NULL", "created_at - interval '1 hour'", 0),
        ("created_at + interval '1 hour'", "NULL", 0),
        ("created_at - interval '1 hour'", "NULL", 2),
    ):
        async with world.damaged(around.format(written=written, lifted=lifted)) as uow:
            assert (await check(uow, BY_ID["I6"])).count == found, (written, lifted)


async def test_I6_the_cool_down_of_its_own_end_is_not_held_against_an_enrolment(world: World) -> None:
    async with world.damaged(
        "INSERT INTO cooldowns (contact_id, enrolment_id, reason, starts_at, ends_at, created_by) "
        "SELECT contact_id, id, 'lost', created_at, created_at + interval '1 day', 'x' FROM enrolments"
    ) as uow:
        assert (await check(uow, BY_ID["I6"])).count == 0


def _moment(value: Any) -> Any:
    """Compare moments as moments: their spelling may differ."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
