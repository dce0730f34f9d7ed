"""A decision in the making, and the small changes that decisions are made of: hold, ask, move the position."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from app.campaigns.domain.definition import CompiledPath, CompiledVersion, WaitForStep
from app.campaigns.domain.enrolment import (
    Decision,
    Effect,
    EnrolmentState,
    Event,
    OpenReview,
    OpenTask,
    changed_columns,
)
from app.campaigns.domain.stimuli import Facts
from app.campaigns.domain.vocabulary import STRICTNESS, Automation


@dataclass(slots=True)
class Draft:
    """A decision in the making: every emitted event takes the columns that changed since the one before it.

    `queues` is the planner's alone: it reserves the sender's pace. Anything else that reaches a message leaves it
    due at once. With `by_hand` the messages become tasks: a person has the lead, and a reminder must not be lost.
    """

    state: EnrolmentState
    facts: Facts
    version: CompiledVersion
    now: datetime
    base: EnrolmentState | None
    queues: bool = False
    by_hand: bool = False
    ended_reason: str = "path_ended"
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
    ask_for_review(draft, ref=ref, title=title, cause=cause)


def ask_for_review(draft: Draft, *, ref: str, title: str, cause: str) -> None:
    """Ask a person to look; the journey itself stays as it is."""
    draft.effects.append(OpenReview(ref, title))
    draft.emit("task_opened", cause, kind="review", ref=ref)


def ask(draft: Draft, *, kind: str, subject: str, title: str, due_at: datetime, who: str) -> None:
    """Open a task for a person; the ledger says so."""
    state = draft.state
    place = f"{state.path}:{state.lap}:{subject}"
    draft.effects.append(OpenTask(kind, place, title, due_at, who))
    draft.emit("task_opened", None, kind=kind, ref=place)


def move_on(draft: Draft, *, wait_from: datetime, began: datetime | None = None) -> bool:
    """Put the position on the step after the present one. Returns False where the version has no such position.

    A `wait_for` looks back to the start of the step before it, which `began` tells where that is not `wait_from`.
    """
    path = _path(draft)
    if path is None:
        return False
    number = path.index[draft.state.step or ""] + 1
    following = path.steps[number] if number < len(path.steps) else None
    if began is not None and isinstance(following, WaitForStep):
        wait_from = min(began, wait_from)
    return go_to(draft, number, wait_from=wait_from)


def _path(draft: Draft) -> CompiledPath | None:
    """Return the path the draft stands on; a position this version does not have is held."""
    path = draft.version.paths.get(draft.state.path or "")
    if path is None or (draft.state.step or "") not in path.index:
        hold_for_mismatch(draft)
        return None
    return path


def go_to(draft: Draft, number: int, *, wait_from: datetime) -> bool:
    """Put the position on a step by its number; a return position kept here moves along."""
    state, path = draft.state, _path(draft)
    if path is None:
        return False
    following = path.key_at(number)
    came_from_here = (state.return_path, state.return_step, state.return_lap) == (
        state.path,
        state.step,
        state.lap,
    )
    if came_from_here:
        draft.change(return_step=following)
    draft.change(step=following, wait_from=wait_from if following else None, next_run_at=None)
    return True
