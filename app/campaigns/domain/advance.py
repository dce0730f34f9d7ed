"""Running a path: from a position, over everything that takes no time, to the next thing that does."""

from __future__ import annotations

from datetime import datetime

from app.campaigns.domain.definition import (
    ConditionStep,
    EndStep,
    JumpStep,
    MessageStep,
    TaskStep,
    WaitForStep,
    WaitStep,
)
from app.campaigns.domain.draft import Draft, go_to, hold_for_mismatch
from app.campaigns.domain.steps import due_of, run_condition, run_message, run_task, run_wait, run_wait_for

MAX_INLINE_STEPS = 25


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
                draft.ended_reason = "path_ended" if step.reason == "path_end" else step.reason
                draft.change(step=None, wait_from=None)
                return True
            case MessageStep():
                goes_on = run_message(draft, step)
            case WaitStep():
                goes_on = run_wait(draft, step)
            case WaitForStep():
                goes_on = run_wait_for(draft, step)
            case ConditionStep():
                goes_on = run_condition(draft, step)
            case JumpStep():
                goes_on = go_to(draft, step.to, wait_from=state.wait_from or draft.now)
            case TaskStep():
                goes_on = run_task(draft, step)
        if not goes_on:
            return False
    draft.change(next_run_at=draft.now)
    return False


def start_path(draft: Draft, name: str) -> None:
    """Begin a path in a new lap. One that this version does not have has ended as it begins."""
    path = draft.version.paths.get(name)
    lap = draft.facts.path_starts + 1
    draft.change(
        path=name,
        step=path.key_at(0) if path else None,
        lap=lap,
        wait_from=draft.now if path else None,
        next_run_at=None,
    )
    draft.emit("path_entered", None, path=name, lap=lap)


def timer_at_position(draft: Draft) -> datetime:
    """Return when a journey that may act again is due: waits count from max(now, their start + length)."""
    state = draft.state
    step = draft.version.step(state.path, state.step)
    if not isinstance(step, WaitStep):
        return draft.now
    due = due_of(draft, step, state.wait_from or draft.now)
    return draft.now if due is None else max(draft.now, due)
