"""What is stuck is found, each kind by its own sign."""

from __future__ import annotations

import pytest

from app.db.session import UnitOfWork
from app.integrity.runner import find_stuck
from tests.integration.integrity.conftest import World

_OLD = "clock_timestamp() - interval '20 minutes'"
_YOUNG = "clock_timestamp() - interval '10 seconds'"

STUCK: list[tuple[str, str, tuple[str, ...]]] = [
    ("no_owner", "no timer", ("UPDATE enrolments SET next_run_at = NULL WHERE id = :enrolment",)),
    (
        "unknown",
        "unknown for twenty minutes",
        (
            "UPDATE sends SET status = 'unknown' WHERE enrolment_id = :enrolment",
            (
                f"UPDATE send_attempts SET outcome = 'unknown', finished_at = {_OLD} "
                "WHERE send_id = (SELECT id FROM sends WHERE enrolment_id = :enrolment)"
            ),
        ),
    ),
    (
        "needs_review",
        "a review",
        ("UPDATE sends SET status = 'needs_review' WHERE enrolment_id = :enrolment",),
    ),
    (
        "nobody_cares",
        "paused, and no person knows",
        ("UPDATE enrolments SET automation = 'paused', next_run_at = NULL WHERE id = :enrolment",),
    ),
    (
        "queued",
        "queued for twenty minutes",
        (f"UPDATE sends SET status = 'queued', not_before = {_OLD} WHERE enrolment_id = :enrolment",),
    ),
    (
        "signals",
        "a message nobody has read",
        (
            (
                "INSERT INTO signals (source, external_id, kind, payload, at, received_at, contact_id) "
                f"VALUES ('twilio.inbound', 'x', 'inbound', '{{}}', now(), {_OLD}, :contact)"
            ),
        ),
    ),
    (
        "attempts",
        "an attempt past its lease",
        (
            (
                f"UPDATE send_attempts SET outcome = NULL, lease_expires_at = {_OLD} "
                "WHERE send_id = (SELECT id FROM sends WHERE enrolment_id = :enrolment)"
            ),
        ),
    ),
]


@pytest.mark.parametrize(
    ("kind", "statements"),
    [pytest.param(kind, statements, id=f"{kind} {what}") for kind, what, statements in STUCK],
)
async def test_stuck_is_found(world: World, kind: str, statements: tuple[str, ...]) -> None:
    victim = world.waiting
    async with world.damaged(*statements, enrolment=victim.enrolment_id, contact=victim.contact_id) as uow:
        assert (await _found(uow))[kind] == [victim.contact_id]


async def test_a_run_that_stands_still_is_found_and_one_at_work_is_not(world: World) -> None:
    columns = "INSERT INTO runs (id, kind, status, source, title, lease_expires_at, progressed_at, created_at) VALUES "
    async with world.damaged(
        f"{columns} (1, 'import', 'running', 'a', 'Stands still', {_OLD}, {_OLD}, now())",
        f"{columns} (2, 'import', 'running', 'b', 'At work', {_YOUNG} + interval '1 minute', {_YOUNG}, now())",
        f"{columns} (3, 'import', 'needs_review', 'c', 'Asks', NULL, {_YOUNG}, now())",
        f"{columns} (4, 'import', 'waiting', 'd', 'Just made', NULL, NULL, now())",
        f"{columns} (5, 'import', 'waiting', 'e', 'Nobody began', NULL, NULL, {_OLD})",
    ) as uow:
        runs = next(finding for finding in await find_stuck(uow) if finding.key == "runs")
    assert sorted(o.detail.split(":")[0] for o in runs.offenders) == ["run 1", "run 3", "run 5"]


async def test_a_report_parked_until_its_message_is_known_is_not_stuck(world: World) -> None:
    async with world.damaged(
        "INSERT INTO signals (source, external_id, kind, payload, at, received_at, outcome) "
        f"VALUES ('twilio.status', 'x', 'status', '{{}}', now(), {_OLD}, 'parked')"
    ) as uow:
        assert (await _found(uow))["signals"] == []


@pytest.mark.parametrize(
    "cared_for",
    [
        "UPDATE enrolments SET resume_at = now() + interval '7 days' WHERE id = :enrolment",
        (
            "INSERT INTO tasks (kind, subject, contact_id, title, due_at, created_at) "
            "VALUES ('review', 'x', :contact, 'Look', now(), now())"
        ),
        (
            "INSERT INTO handoffs (contact_id, status, reason, opened_at, clock_started_at, due_at) "
            "VALUES (:contact, 'open', 'replied', now(), now(), now())"
        ),
    ],
)
async def test_a_paused_journey_that_somebody_or_a_date_will_move_is_not_stuck(
    world: World, cared_for: str
) -> None:
    victim = world.waiting
    async with world.damaged(
        "UPDATE enrolments SET automation = 'paused', next_run_at = NULL WHERE id = :enrolment",
        enrolment=victim.enrolment_id,
    ) as uow:
        assert (await _found(uow))["nobody_cares"] == [victim.contact_id]
        await uow.execute(cared_for, {"enrolment": victim.enrolment_id, "contact": victim.contact_id})
        assert (await _found(uow))["nobody_cares"] == []


async def _found(uow: UnitOfWork) -> dict[str, list[int | None]]:
    return {f.key: [o.contact_id for o in f.offenders] for f in await find_stuck(uow)}
