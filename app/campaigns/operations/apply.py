"""The one way in which stimuli change a locked enrolment: facts, decide, save, effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from app.campaigns.domain.decide import decide_all
from app.campaigns.domain.enrolment import Decision, Event
from app.campaigns.domain.stimuli import Stimulus
from app.campaigns.events import JourneyChanged
from app.campaigns.operations.effects import Trigger, carry_out
from app.campaigns.operations.facts import load_facts
from app.campaigns.repository import KEEP, Change, Lock, Record, save_changes
from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork


async def apply(
    uow: UnitOfWork,
    record: Record,
    stimuli: Sequence[Stimulus],
    *,
    events: Sequence[Event] = (),
    lock: Lock = KEEP,
    actor: str,
    cause: str | None = None,
    trigger: Trigger = Trigger(),  # noqa: B008 - frozen
    now: datetime,
) -> Decision:
    """Decide stimuli of one moment about a locked enrolment, write the state with its ledger, carry the effects out.

    `events` are told as they are, before what the stimuli say. Raises `CommandRefused` for a command without a row.
    """
    decision = Decision(record.state, tuple(events), ())
    if stimuli:
        version = (await load_versions(uow, [record.state.version_id]))[record.state.version_id]
        facts = replace(await load_facts(uow, record, version), last_send_id=trigger.send_id)
        decision = decide_all(record.state, version, stimuli, facts, now, events=events)
    if not decision.events and lock is KEEP:
        return decision
    await save_changes(uow, [Change(record, decision, lock)], actor=actor, now=now)
    await carry_out(
        uow, record=record, effects=decision.effects, actor=cause or actor, now=now, trigger=trigger
    )
    uow.emit(JourneyChanged(record.contact_id, record.id))
    return decision
