"""Running a path: from a position, over everything that takes no time, to the next thing that does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from app.campaigns.domain.definition import CompiledVersion, EndStep, MessageStep, WaitStep
from app.campaigns.domain.enrolment import (
    Decision,
    Effect,
    EnrolmentState,
    Event,
    OpenReview,
    QueueSend,
    changed_columns,
    idempotency_key,
)
from app.campaigns.domain.schedule import wait_due
from app.campaigns.domain.stimuli import Facts
from app.campaigns.domain.vocabulary import STRICTNESS, Automation

MAX_INLINE_STEPS = 25

NOT_STARTED = frozenset({"waiting", "queued", "superseded"})
IN_THE_AIR = frozenset({"sending", "unknown"})
DONE = frozenset({"accepted", "sent", "delivered", "read", "failed", "undelivered", "skipped"})


@dataclass(slots=True)
class Draft:
    """A decision in the making: every emitted event takes the columns that changed since the one before it.

    `queues` is the planner's alone: it reserves the sender's pace. Anything else that reaches a message leaves it
    due at once.
    """

    state: EnrolmentState
    facts: Facts
    version: CompiledVersion
    now: datetime
    base: EnrolmentState | None
    queues: bool = False
    events: list[Event] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def change(self, **columns: Any) -> None:
        """Set columns of the state."""
        self.state = replace(self.state, **columns)

    def emit(self, type: str, cause: str | None = None, **data: Any) -> None:
        """Add an event that carries what has changed since the last one."""
        kept = {k: v for k, v in data.items() if v is not None}
        self.events.append(Event(type, cause, kept, changed_columns(self.base, self.state)))
        self.base = self.state

    def finish(self) -> Decision:
        """Return the decision; what changed after the last event is added to that event."""
        left = changed_columns(self.base, self.state)
        if left:
            last = self.events[-1] if self.events else Event("ignored", "state only")
            self.events[-1:] = [Event(last.type, last.cause, last.data, {**last.set, **left})]
        return Decision(self.state, tuple(self.events), tuple(self.effects))


def run(draft: Draft) -> bool:
    """Run the path from the draft's position. Returns True where the path has ended.

    Stops at a wait that is not over, at a message (queued by the planner, left to the planner, or left to the send
    that is already in the air), or after 25 steps, due again at once.
    """
    for _ in range(MAX_INLINE_STEPS):
        state = draft.state
        if state.step is None:
            return True
        step = draft.version.step(state.path, state.step)
        if step is None:
            hold_for_mismatch(draft)
            return False
        match step:
            case EndStep():
                draft.change(step=None)
                return True
            case WaitStep():
                wait_from = state.wait_from or draft.now
                due = wait_due(step, wait_from=wait_from, zone=draft.facts.zone)
                if due > draft.now:
                    draft.change(wait_from=wait_from, next_run_at=due)
                    return False
                move_on(draft, wait_from=draft.now)
            case MessageStep(enabled=False):
                draft.emit("skipped", "step_off", step=step.key)
                move_on(draft, wait_from=draft.now)
            case MessageStep() if not draft.queues:
                draft.change(next_run_at=draft.now)
                return False
            case MessageStep():
                if not _meet_message(draft, step):
                    return False
    draft.change(next_run_at=draft.now)
    return False


def move_on(draft: Draft, *, wait_from: datetime) -> None:
    """Put the position on the step after the present one; a return position kept there moves along."""
    state = draft.state
    path = draft.version.paths.get(state.path or "")
    if path is None or (state.step or "") not in path.index:
        hold_for_mismatch(draft)
        return
    number = path.index[state.step or ""] + 1
    following = path.steps[number].key if number < len(path.steps) else None
    came_from_here = (state.return_path, state.return_step, state.return_lap) == (
        state.path,
        state.step,
        state.lap,
    )
    if came_from_here:
        draft.change(return_step=following)
    draft.change(step=following, wait_from=wait_from, next_run_at=None)


def timer_at_position(draft: Draft) -> datetime:
    """Return when a journey that may act again is due: waits count from max(now, their start + length)."""
    state = draft.state
    step = draft.version.step(state.path, state.step)
    if isinstance(step, WaitStep):
        return max(draft.now, wait_due(step, wait_from=state.wait_from or draft.now, zone=draft.facts.zone))
    return draft.now


def hold_for_mismatch(draft: Draft) -> None:
    """Hold a journey whose position this version does not have: held, not guessed."""
    hold(
        draft,
        ref=f"position:{draft.state.path}/{draft.state.step}",
        title="This journey stands at a step its campaign version does not have.",
        cause="version_mismatch",
    )


def hold(draft: Draft, *, ref: str, title: str, cause: str) -> None:
    """Hold the journey and ask a person; a hold already standing keeps its own reference."""
    if STRICTNESS[draft.state.automation] < STRICTNESS[Automation.HELD]:
        draft.change(
            held_from=draft.state.automation,
            hold_ref=ref,
            automation=Automation.HELD,
            resume_at=None,
            next_run_at=None,
        )
        draft.emit("held", cause, ref=ref)
    draft.effects.append(OpenReview(ref, title))
    draft.emit("task_opened", cause, kind="review", ref=ref)


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
        move_on(draft, wait_from=draft.now)
        return True
    if status == "needs_review":
        hold(draft, ref=f"send:{send_id}", title="Was this message sent?", cause="needs_review")
        return False
    draft.change(next_run_at=None)
    if status in IN_THE_AIR:
        return False
    draft.effects.append(QueueSend(state.path, step.key, state.lap, step.template, step.channels[0]))
    draft.emit("send_queued", None, step=step.key, path=state.path, lap=state.lap, template=step.template)
    return False
