"""What each kind of step does when a journey comes to it: each returns whether the flow goes on."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.domain.conditions import facts_in, holds
from app.campaigns.domain.definition import (
    ConditionStep,
    MessageStep,
    TaskStep,
    WaitForStep,
    WaitStep,
)
from app.campaigns.domain.draft import Draft, ask, go_to, hold, move_on
from app.campaigns.domain.enrolment import QueueSend, idempotency_key
from app.campaigns.domain.schedule import wait_due
from app.campaigns.domain.stimuli import Facts

NOT_STARTED = frozenset({"waiting", "queued", "superseded"})
IN_THE_AIR = frozenset({"sending", "unknown"})
DONE = frozenset({"accepted", "sent", "delivered", "read", "failed", "undelivered", "skipped"})


def run_message(draft: Draft, step: MessageStep) -> bool:
    if not step.enabled:
        return _skip(draft, step, "step_off")
    if draft.by_hand:
        return _leave_to_a_person(draft, step)
    if not draft.queues:
        draft.change(next_run_at=draft.now)
        return False
    return _meet_message(draft, step)


def run_wait(draft: Draft, step: WaitStep) -> bool:
    wait_from = draft.state.wait_from or draft.now
    due = due_of(draft, step, wait_from)
    if due is None:
        hold(draft, ref="booking", title="A step waits for a booking, and there is none.", cause="no_booking")
        return False
    if due > draft.now:
        draft.change(wait_from=wait_from, next_run_at=due)
        return False
    if not move_on(draft, wait_from=draft.now, began=wait_from):
        return False
    if step.enabled and step.booking is not None and due < wait_from:
        # The moment was over before the wait began: what was to be said then would come too late.
        following = draft.version.step(draft.state.path, draft.state.step)
        return not isinstance(following, MessageStep) or _skip(draft, following, "too_late")
    return True


def run_wait_for(draft: Draft, step: WaitForStep) -> bool:
    wait_from = draft.state.wait_from or draft.now
    met = next((s for s in draft.facts.seen if s.kind in step.signals and s.at >= wait_from), None)
    if met is not None:
        draft.emit("condition_evaluated", met.cause, step=step.key, branch="met", signal=met.kind)
        return move_on(draft, wait_from=draft.now)
    due = wait_from + step.length
    if due > draft.now:
        draft.change(wait_from=wait_from, next_run_at=due)
        return False
    draft.emit("condition_evaluated", None, step=step.key, branch="timed_out")
    return go_to(draft, step.otherwise, wait_from=draft.now)


def run_condition(draft: Draft, step: ConditionStep) -> bool:
    values = draft.facts.values
    true = holds(step.test, values)
    read = {name: values.get(name) for name in facts_in(step.test)}
    draft.emit("condition_evaluated", None, step=step.key, branch="then" if true else "else", facts=read)
    wait_from = draft.state.wait_from or draft.now
    if true:
        return move_on(draft, wait_from=wait_from)
    return go_to(draft, step.otherwise, wait_from=wait_from)


def run_task(draft: Draft, step: TaskStep) -> bool:
    if not step.enabled:
        return _skip(draft, step, "step_off")
    ask(draft, kind=step.task, subject=step.key, title=step.title, due_at=draft.now + step.due, who=step.who)
    return move_on(draft, wait_from=draft.now)


def _skip(draft: Draft, step: MessageStep | TaskStep, reason: str) -> bool:
    draft.emit("skipped", reason, step=step.key)
    return move_on(draft, wait_from=draft.now)


def _leave_to_a_person(draft: Draft, step: MessageStep) -> bool:
    """A message that falls due while a person has the lead is theirs to send, or to leave."""
    ask(
        draft,
        kind="visit_reminder",
        subject=step.key,
        title=f"The message “{step.template}” was due while you have this lead. Tell them yourself.",
        due_at=draft.now,
        who="owner",
    )
    return _skip(draft, step, "paused")


def due_of(draft: Draft, step: WaitStep, wait_from: datetime) -> datetime | None:
    """Return when a wait is over; None where it hangs on a booking and there is none."""
    if step.booking is not None and draft.facts.visit is None and step.enabled:
        return None
    facts = draft.facts
    return wait_due(step, wait_from=wait_from, zone=facts.zone, calendar=facts.calendar, visit=facts.visit)


def _meet_message(draft: Draft, step: MessageStep) -> bool:
    """Queue the message, or deal with the send that already has its key. Returns True where the flow goes on."""
    state, facts = draft.state, draft.facts
    assert state.path is not None
    key = idempotency_key(
        contact_id=facts.contact_id,
        campaign_id=draft.version.campaign_id,
        generation=state.generation,
        path=state.path,
        lap=state.lap,
        step=step.key,
    )
    send_id, status = facts.sends.get(key, (None, None))
    if status in DONE:
        draft.emit("skipped", "already_sent", step=step.key, send_id=send_id)
        return move_on(draft, wait_from=draft.now)
    if status == "needs_review":
        hold(draft, ref=f"send:{send_id}", title="Was this message sent?", cause="needs_review")
        return False
    if status in IN_THE_AIR:
        draft.change(next_run_at=None)
        return False
    channel = next_channel(step, facts, tried=facts.tried.get(key, ())) or step.channels[0]
    sender_id = facts.senders.get(channel, state.sender_id)
    if sender_id != state.sender_id:  # another sender's pace: its planner queues the message
        draft.change(sender_id=sender_id, next_run_at=draft.now)
        draft.emit("deferred", "channel", step=step.key, channel=channel)
        return False
    draft.change(next_run_at=None)
    draft.effects.append(QueueSend(state.path, step.key, state.lap, step.template, channel))
    draft.emit(
        "send_queued",
        None,
        step=step.key,
        path=state.path,
        lap=state.lap,
        template=step.template,
        channel=channel if len(step.channels) > 1 else None,
    )
    return False


def next_channel(step: MessageStep, facts: Facts, *, tried: tuple[str, ...]) -> str | None:
    """Return the first channel of the order that is untried and reaches the person; None where none is left.

    Where nobody asked which channels reach them, the first one is taken: the gates have the last word.
    """
    left = [c for c in step.channels if c not in tried]
    if facts.channels is not None:
        left = [c for c in left if c in facts.channels and c in facts.senders]
    return left[0] if left else None
