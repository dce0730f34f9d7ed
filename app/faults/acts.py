"""What may happen in a history: each act does once what a worker, a webhook, an operator or a lead does.

An act is led by the scheduler: between its transactions and around its calls others go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from app.advisers.operations.assignment import assign_waiting
from app.campaigns.domain.gates import GatePolicy
from app.campaigns.domain.vocabulary import Outcome, Stim
from app.campaigns.operations.call import still_wanted
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.leftovers import process_leftovers, process_receipt
from app.campaigns.operations.operate import close_journey, operate, resolve_review, resume_by_adviser, wake
from app.campaigns.operations.plan import plan
from app.campaigns.operations.reap import reap
from app.campaigns.operations.start import LEASE_SECONDS, StartedCall, queue_waiting_again, start
from app.campaigns.operations.visits import (
    find_reminders,
    remind_by_hand,
    visit_booked,
    visit_cancelled,
    visit_marked,
    visit_rescheduled,
)
from app.clock import FixedClock
from app.contacts.finding import lock_contact
from app.db.session import Database, UnitOfWork
from app.faults.provider import Provider
from app.faults.town import SENDER
from app.kernel.errors import WarmlineError
from app.messaging.gateways.base import NotSent
from app.messaging.gateways.twilio.forms import FormFields
from app.messaging.operations.receive import keep_inbound, keep_status

ORGANISATION = "Explored"
CALL_SECONDS = 15.0
WORDS = (
    "Yes please",
    "Can I bring my sister?",
    "What does it cost?",
    "ok",
    "STOP",
    "please no more messages",
)
COMMANDS = (Stim.OPERATOR_PAUSED, Stim.OPERATOR_RESUMED, Stim.OPERATOR_HELD, Stim.OPERATOR_RELEASED)
OPEN_REVIEWS = """
SELECT t.id, (SELECT array_agg(a.id) FROM send_attempts a
    WHERE t.subject LIKE 'send:%' AND a.send_id = split_part(t.subject, ':', 2)::bigint) AS attempts
FROM tasks t WHERE t.contact_id = ANY(CAST(:leads AS bigint[])) AND t.kind = 'review'
    AND t.done_at IS NULL ORDER BY t.id
"""


@dataclass(slots=True)
class Play:
    """What the acts of one history share. `aged` is the real time, in seconds, that the history has let pass."""

    database: Database
    clock: FixedClock
    provider: Provider
    leads: list[int]
    phones: Mapping[int, str]
    aged: float = 0.0
    words: int = 0
    said: list[dict[str, str]] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        """Return the present business time."""
        return self.clock.now()

    async def rows(self, sql: str, **values: Any) -> list[Any]:
        """Read rows."""
        async with self.database.reading() as uow:
            return list((await uow.execute(sql, values)).all())


async def plan_some(play: Play, random: Random) -> None:
    """A worker plans."""
    await plan(play.database, now=play.now, batch=random.choice([1, 3, 50]))


async def send_some(play: Play, random: Random) -> None:
    """A worker starts sends, calls the provider, and brings in what it said, one by one or together."""
    calls = await start(
        play.database,
        now=play.now,
        slots=random.choice([1, 2, 8]),
        policy=GatePolicy(),
        organisation=ORGANISATION,
    )
    committed = play.aged
    outcomes = []
    for call in calls:
        outcome = await _call(play, call, committed)
        if random.random() < 0.5:
            await settle_outcomes(play.database, [outcome], now=play.now)
        else:
            outcomes.append(outcome)
    await settle_outcomes(play.database, outcomes, now=play.now)


async def _call(play: Play, call: StartedCall, committed: float) -> CallOutcome:
    """Call once, with the same two fences as the send lane."""
    if play.aged > committed and not await still_wanted(play.database, call):
        return CallOutcome(call.attempt_id, NotSent("no_longer_wanted", 0.0), "finish")
    if play.aged - committed + CALL_SECONDS >= LEASE_SECONDS:
        return CallOutcome(call.attempt_id, NotSent("lease_too_short"), "finish")
    result = await play.provider.send(call.message, deadline=CALL_SECONDS)
    return CallOutcome(call.attempt_id, result, "finish")


async def sweep_some(play: Play, random: Random) -> None:
    """A worker sweeps: one of the periodic jobs."""
    job = random.choice([_leftovers, _leftovers, _reap, _reap, _assign, _wake, _reminders, _queue_again])
    await job(play)


async def sweep_all(play: Play, *, seldom_ones: bool) -> None:
    """Every periodic job once; what is seldom of use only where asked for."""
    for job in (_leftovers, _reap, *((_assign, _wake, _reminders, _queue_again) if seldom_ones else ())):
        await job(play)


async def _leftovers(play: Play) -> None:
    await process_leftovers(play.database)


async def _reap(play: Play) -> None:
    await reap(play.database, {"twilio": play.provider}, now=play.now)


async def _assign(play: Play) -> None:
    async with play.database.transaction() as uow:
        await assign_waiting(uow, now=play.now)


async def _wake(play: Play) -> None:
    rows = await play.rows(
        "SELECT id FROM enrolments WHERE resume_at <= :now AND automation = 'paused' ORDER BY id",
        now=play.now,
    )
    for row in rows:
        async with play.database.transaction() as uow:
            await wake(uow, enrolment_id=row.id, now=play.now)


async def _reminders(play: Play) -> None:
    async with play.database.reading() as uow:
        due = await find_reminders(uow, now=play.now)
    for enrolment_id in due:
        async with play.database.transaction() as uow:
            await remind_by_hand(uow, enrolment_id=enrolment_id, now=play.now)


async def _queue_again(play: Play) -> None:
    async with play.database.transaction() as uow:
        await queue_waiting_again(uow)


async def reply(play: Play, random: Random) -> None:
    """A lead writes; or the provider delivers once more what it delivered before."""
    if play.said and random.random() < 0.25:
        fields = random.choice(play.said)
    else:
        play.words += 1
        phone = play.phones[random.choice(play.leads)]
        fields = {
            "MessageSid": f"SMin{play.provider.prefix}{play.words:06x}".ljust(34, "0"),
            "From": f"whatsapp:{phone}",
            "To": f"whatsapp:{SENDER}",
            "Body": random.choices(WORDS, weights=[6, 6, 6, 6, 1, 2])[0],
        }
        play.said.append(fields)
    async with play.database.transaction() as uow:
        receipt = await keep_inbound(uow, fields=_form(fields), now=play.now)
    if receipt.new and random.random() < 0.9:  # else the process died between the two, and the sweep finds it
        await process_receipt(play.database, signal_id=receipt.signal_id, kind="inbound")


async def report(play: Play, random: Random) -> None:
    """The provider reports on a message: in any order, twice, late, or never."""
    untold = [taken for taken in play.provider.taken if taken.reports]
    if not untold:
        return
    taken = random.choice(untold)
    number = random.randrange(len(taken.reports))
    status, code = taken.reports[number]
    if random.random() < 0.8:
        del taken.reports[number]
    await tell(play, taken.sid, taken.attempt_id, status, code)


async def tell(play: Play, sid: str, attempt_id: str, status: str, code: int | None) -> None:
    """Bring in one report."""
    fields = {"MessageSid": sid, "MessageStatus": status, "From": f"whatsapp:{SENDER}"}
    if code is not None:
        fields["ErrorCode"] = str(code)
    async with play.database.transaction() as uow:
        receipt = await keep_status(
            uow, fields=_form(fields), raw_query=f"attempt={attempt_id}", now=play.now
        )
    if receipt.new:
        await process_receipt(play.database, signal_id=receipt.signal_id, kind="status")


async def command(play: Play, random: Random) -> None:
    """An operator commands: pause, resume, hold, release, hand back, close."""
    lead = random.choice(play.leads)
    luck = random.random()
    async with play.database.transaction() as uow:
        if luck < 0.25:
            await resume_by_adviser(uow, contact_id=lead, actor="user:1", now=play.now)
        elif luck < 0.30:
            await close_journey(
                uow, contact_id=lead, outcome=Outcome.LOST, not_now_until=None, actor="user:1", now=play.now
            )
        else:
            rows = await uow.execute(
                "SELECT max(id) AS id FROM enrolments WHERE contact_id = :id", {"id": lead}
            )
            await operate(
                uow,
                enrolment_id=rows.one().id,
                stim=random.choice(COMMANDS),
                actor="user:1",
                reason="explored",
                now=play.now,
            )


async def answer_a_review(play: Play, random: Random) -> None:
    """A person finds out what became of a message: what the provider really did."""
    reviews = await play.rows(OPEN_REVIEWS, leads=play.leads)
    if reviews:
        await answer(play, random.choice(reviews), random)


async def answer(play: Play, review: Any, random: Random) -> None:
    """Answer one review truthfully."""
    sid = play.provider.took(review.attempts or ())
    verdict = "sent" if sid else random.choice(["again", "again", "skip"])
    async with play.database.transaction() as uow:
        await resolve_review(
            uow, task_id=review.id, verdict=verdict, provider_message_id=sid, actor="user:1", now=play.now
        )


async def visit(play: Play, random: Random) -> None:
    """A lead books, moves or cancels a visit; or somebody marks whether they came."""
    lead = random.choice(play.leads)
    async with play.database.transaction() as uow:
        await lock_contact(uow, lead)
        found = (
            await uow.execute(
                "SELECT id, status FROM bookings WHERE contact_id = :lead ORDER BY id DESC LIMIT 1",
                {"lead": lead},
            )
        ).one_or_none()
        starts = play.now + timedelta(hours=random.choice([3, 30, 80]))
        values = {"lead": lead, "starts": starts, "ends": starts + timedelta(hours=1), "now": play.now}
        if found is None or found.status == "cancelled":
            row = (
                await uow.execute(
                    "INSERT INTO bookings (contact_id, program_id, starts_at, ends_at, created_at, created_by, "
                    "updated_at) SELECT :lead, id, :starts, :ends, :now, 'lead', :now FROM programs RETURNING id",
                    values,
                )
            ).one()
            await visit_booked(uow, booking_id=row.id, actor="lead", now=play.now)
            return
        act = random.choice(["move", "cancel", "came", "did not"]) if found.status == "booked" else "correct"
        if act == "move":
            await uow.execute(
                "UPDATE bookings SET starts_at = :starts, ends_at = :ends WHERE id = :id",
                {"starts": starts, "ends": values["ends"], "id": found.id},
            )
            await visit_rescheduled(uow, booking_id=found.id, actor="lead", now=play.now)
        elif act == "cancel":
            await _mark(uow, found.id, "cancelled")
            await visit_cancelled(uow, booking_id=found.id, actor="lead", now=play.now)
        else:
            came = act == "came" or (act == "correct" and found.status == "no_show")
            await _tell_whether_they_came(uow, found.id, came=came, now=play.now)


async def mark_past_visits(play: Play, random: Random) -> None:
    """Say of every visit that is over whether the lead came."""
    over = await play.rows(
        "SELECT id, contact_id FROM bookings WHERE contact_id = ANY(CAST(:leads AS bigint[])) "
        "AND status = 'booked' AND ends_at <= :now ORDER BY id",
        leads=play.leads,
        now=play.now,
    )
    for row in over:
        async with play.database.transaction() as uow:
            await lock_contact(uow, row.contact_id)
            await _tell_whether_they_came(uow, row.id, came=random.random() < 0.5, now=play.now)


async def _tell_whether_they_came(uow: UnitOfWork, booking_id: int, *, came: bool, now: datetime) -> None:
    await _mark(uow, booking_id, "attended" if came else "no_show")
    await visit_marked(uow, booking_id=booking_id, came=came, actor="user:1", now=now)


async def _mark(uow: UnitOfWork, booking_id: int, status: str) -> None:
    await uow.execute(
        "UPDATE bookings SET status = :status WHERE id = :id", {"status": status, "id": booking_id}
    )


async def switch(play: Play, random: Random) -> None:
    """Somebody turns the kill switch on, or off again."""
    async with play.database.transaction() as uow:
        if random.random() < 0.5:
            await uow.execute(
                "INSERT INTO kill_switches (scope, reason, set_by, set_at) "
                "VALUES ('global', 'explored', 'user:1', :now) ON CONFLICT DO NOTHING",
                {"now": play.now},
            )
        else:
            await uow.execute("DELETE FROM kill_switches")


async def let_real_time_pass(play: Play, seconds: float) -> None:
    """Make everything that real time measures older by so many seconds, except what a standing actor has locked."""
    play.aged += seconds
    async with play.database.transaction() as uow:
        for table, columns, whose in _REAL_TIMES:
            changes = ", ".join(f"{c} = {c} - make_interval(secs => :seconds)" for c in columns)
            await uow.execute(
                f"UPDATE {table} SET {changes} WHERE id IN "
                f"(SELECT id FROM {table} WHERE {whose} ORDER BY id FOR UPDATE SKIP LOCKED)",
                {"seconds": seconds, "leads": play.leads},
            )


_OWN = "contact_id = ANY(CAST(:leads AS bigint[]))"
_REAL_TIMES = (
    ("sends", ("not_before",), _OWN),
    ("send_attempts", ("lease_expires_at", "started_at"), f"send_id IN (SELECT id FROM sends WHERE {_OWN})"),
    ("signals", ("not_before", "received_at"), "processed_at IS NULL"),
    ("senders", ("next_free_at",), "true"),
)


def _form(fields: Mapping[str, str]) -> FormFields:
    return FormFields(tuple((k.encode(), v.encode()) for k, v in fields.items()))


REFUSALS = (WarmlineError,)
"""What a command may end with: the table refuses it, or somebody was quicker."""
