"""The queue as one statement: who is in it, in the order of `domain.rank`, with every count beside it.

The order is written twice, in SQL to cut the list and in `domain.rank` to explain it; a test holds them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import Row

from app.advisers.queries import advisers_for_assignment
from app.contacts.about import about_contact
from app.contacts.cooldowns.domain import CooldownLengths, lost_words
from app.db.session import UnitOfWork
from app.inbox.domain.words import language_words, last_words, stage_words
from app.inbox.queries.clocks import CLOCK_COLUMNS, clock_of
from app.inbox.queries.listing import display_name
from app.inbox.queries.panel import load_panel
from app.kernel.errors import Conflict, NotFound
from app.kernel.roles import Role
from app.kernel.row_ids import is_row_id
from app.messaging.domain.window import window_closes_at
from app.queue.domain import REVIEW, Candidate, Group, OpenHandoff, OpenTask, Rank, end_of_day, rank
from app.queue.views import (
    AdviserChoice,
    AssignmentForm,
    ClockCounts,
    NextAction,
    OutcomeForm,
    QueuePage,
    QueueRow,
    SegmentOption,
    StageOption,
)
from app.web.viewer import Viewer
from app.web.views import ReplyClock
from app.web.words import day_and_time

MOST_ROWS: Final = 50
SEGMENTS: Final = {"reply": "Replies", "take": "Pool", "review": "Tasks", "wait": "Waiting"}
"""The parts of the queue that can be shown alone, by their next action."""
STAGES: Final = (
    "nurturing",
    "engaged",
    "booked",
    "attended",
    "no_show",
    "closed",
    "exhausted",
    "opted_out",
    "exited",
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which part of the queue: a next action, a stage. Empty ones show all."""

    segment: str = ""
    stage: str = ""

    @classmethod
    def read(cls, *, segment: str, stage: str) -> Filters:
        """Return the filters of an address; what does not exist shows all."""
        return cls(segment if segment in SEGMENTS else "", stage if stage in STAGES else "")

    def url(self, path: str, **changed: str) -> str:
        """Return the address of a part of the queue."""
        values = {"segment": self.segment, "stage": self.stage, **changed}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path


# Every lead that is in this person's queue, once: its open handoff, and its first task of today. A review stands
# there from the start, whenever it is due: its journey stands still until somebody answers.
_VISIBLE = f"""
WITH task AS (
    SELECT DISTINCT ON (contact_id) id, contact_id, owner_id, kind, title, due_at
    FROM tasks WHERE done_at IS NULL AND contact_id IS NOT NULL AND (due_at < :day_end OR kind = 'review')
    ORDER BY contact_id, kind = 'review' DESC, due_at, id
), open AS (
    SELECT coalesce(h.contact_id, task.contact_id) AS contact_id, h.id AS handoff_id, h.owner_id, h.reason, h.opened_at,
        h.first_answered_at, h.trigger_send_id, {CLOCK_COLUMNS},
        task.id AS task_id, task.kind AS task_kind, task.title AS task_title, task.due_at AS task_due_at,
        task.owner_id AS task_owner_id
    FROM (SELECT * FROM handoffs WHERE status <> 'closed' AND (:sees_team OR owner_id = :user_id OR owner_id IS NULL
            OR contact_id IN (SELECT contact_id FROM task WHERE owner_id = :user_id))) h
    FULL JOIN task ON task.contact_id = h.contact_id
), held AS (
    SELECT open.*, CASE WHEN handoff_id IS NOT NULL THEN owner_id ELSE coalesce(
        (SELECT h.owner_id FROM handoffs h WHERE h.contact_id = open.contact_id AND h.status <> 'closed'),
        (SELECT c.owner_id FROM contacts c WHERE c.id = open.contact_id)) END AS holder_id
    FROM open
), visible AS (
    SELECT held.*, e.stage,
        CASE WHEN due_at IS NOT NULL AND (owner_id IS NOT NULL OR due_at <= :now) THEN 0
            WHEN task_due_at IS NOT NULL THEN 1
            WHEN owner_id IS NOT NULL THEN 2 ELSE 3 END AS place
    FROM held
    LEFT JOIN LATERAL (SELECT x.stage FROM enrolments x WHERE x.contact_id = held.contact_id
        ORDER BY (x.automation = 'completed'), x.id DESC LIMIT 1) e ON true
    WHERE (:sees_team OR task_owner_id = :user_id
        OR (coalesce(holder_id, :user_id) = :user_id AND (handoff_id IS NOT NULL OR task_owner_id IS NULL)))
      AND (CAST(:stage AS text) = '' OR e.stage = :stage)
)
"""
_COUNT = f"{_VISIBLE} SELECT count(*) AS total FROM visible"
_QUEUE = f"""
{_VISIBLE}, placed AS (
    SELECT *,
        CASE place WHEN 0 THEN due_at WHEN 1 THEN task_due_at
            WHEN 2 THEN coalesce(waiting_since, clock_started_at) ELSE coalesce(due_at, 'infinity') END AS place_at,
        CASE WHEN place = 1 THEN 'review' WHEN owner_id IS NULL THEN 'take'
            WHEN due_at IS NULL THEN 'wait' ELSE 'reply' END AS action
    FROM visible
), chosen AS (
    SELECT * FROM placed WHERE CAST(:segment AS text) = '' OR action = :segment
), counts AS (
    SELECT count(*) AS everything,
        count(*) FILTER (WHERE action = 'reply') AS reply, count(*) FILTER (WHERE action = 'take') AS take,
        count(*) FILTER (WHERE action = 'review') AS review, count(*) FILTER (WHERE action = 'wait') AS wait
    FROM placed
), clocks AS (
    SELECT count(*) AS total, count(*) FILTER (WHERE due_at <= :now) AS overdue,
        count(*) FILTER (WHERE due_at > :now AND warn_at <= :now) AS soon,
        count(*) FILTER (WHERE due_at > :now AND coalesce(warn_at > :now, true)) AS on_time
    FROM chosen
), top AS (
    SELECT * FROM chosen ORDER BY place, place_at, contact_id LIMIT {MOST_ROWS}
)
SELECT counts.*, clocks.*, top.*, c.name, c.language, c.attributes, c.source, u.name AS owner_name,
    talk.id AS conversation_id, talk.last_text, talk.last_kind, talk.last_direction, talk.last_inbound_at,
    talk.whatsapp_inbound_at,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = top.contact_id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone,
    (SELECT t.name FROM sends s JOIN templates t ON t.key = s.template_key WHERE s.id = top.trigger_send_id
        ORDER BY t.language = 'en' DESC, t.id LIMIT 1) AS trigger
FROM counts CROSS JOIN clocks
LEFT JOIN top ON true
LEFT JOIN contacts c ON c.id = top.contact_id
LEFT JOIN users u ON u.id = coalesce(top.owner_id, CASE WHEN top.handoff_id IS NULL
    THEN coalesce(top.task_owner_id, top.holder_id) END)
LEFT JOIN conversations talk ON talk.contact_id = top.contact_id
ORDER BY top.place, top.place_at, top.contact_id
"""


async def load_queue(
    uow: UnitOfWork, *, viewer: Viewer, filters: Filters = Filters(), with_panel: bool, now: datetime
) -> QueuePage:
    """Return the first rows of a person's queue and its counts; with the panel of the first lead if asked for."""
    zone = viewer.time_zone
    values = {**_scope(viewer, now), "segment": filters.segment, "stage": filters.stage}
    found = (await uow.execute(_QUEUE, values)).all()
    rows = [row for row in found if row.contact_id is not None]
    numbers = found[0]
    panel = None
    if with_panel and rows:
        panel = await load_panel(uow, contact_id=rows[0].contact_id, zone=zone, now=now)
    return QueuePage(
        rows=tuple(_row(row, viewer, now) for row in rows),
        segments=_segments(numbers, filters),
        counts=ClockCounts(overdue=numbers.overdue, soon=numbers.soon, on_time=numbers.on_time),
        total=numbers.total,
        topics=topics_of(viewer),
        rows_url=filters.url("/queue/rows"),
        panel=panel,
        stages=_stages(filters),
        segment=filters.segment,
        **_empty(filters),
    )


async def queue_size(uow: UnitOfWork, *, viewer: Viewer, now: datetime) -> int:
    """Return how many leads stand in a person's queue."""
    total: int = (await uow.execute(_COUNT, {**_scope(viewer, now), "stage": ""})).scalar_one()
    return total


def _scope(viewer: Viewer, now: datetime) -> dict[str, Any]:
    return {
        "now": now,
        "day_end": end_of_day(now, zone=viewer.time_zone),
        "user_id": viewer.user_id,
        "sees_team": viewer.is_one_of(Role.MANAGER),
    }


def topics_of(viewer: Viewer) -> tuple[str, ...]:
    """Return what changes a person's queue: their own, the pool, and for managers the team."""
    own = (f"user:{viewer.user_id}", "pool")
    return (*own, "team") if viewer.is_one_of(Role.MANAGER) else own


def _row(row: Row[Any], viewer: Viewer, now: datetime) -> QueueRow:
    found = rank(_candidate(row), now=now, zone=viewer.time_zone)
    in_pool = row.handoff_id is not None and row.owner_id is None
    return QueueRow(
        contact_id=row.contact_id,
        name=display_name(row.name, row.phone),
        about=_about(row),
        stage=stage_words(row.stage),
        group=found.group.value,
        clock=_clock(row, found, now, viewer.time_zone),
        next_action=NextAction(found.action.kind, found.action.label),
        reasons=found.reasons,
        last_text=_last_text(row),
        last_text_lang=row.language if row.last_direction == "in" and row.language != "en" else None,
        channel=_channel(row),
        window_closes_at=window_closes_at(row.whatsapp_inbound_at),
        owner_name=row.owner_name,
        handoff_id=row.handoff_id,
        conversation_id=row.conversation_id,
        can_take=in_pool and viewer.role is Role.ADVISER,
        can_assign=row.handoff_id is not None and viewer.is_one_of(Role.MANAGER),
        review_url=f"/reviews/{row.task_id}" if row.task_kind == REVIEW else None,
        comes_to_review=found.group is Group.TODAY and row.task_kind == REVIEW,
    )


def _about(row: Row[Any]) -> str:
    known = about_contact(attributes=row.attributes, source=row.source)
    return ", ".join(part for part in (known, language_words(row.language)) if part)


def _candidate(row: Row[Any]) -> Candidate:
    handoff = task = None
    if row.handoff_id is not None:
        handoff = OpenHandoff(
            owner_id=row.owner_id,
            reason=row.reason,
            started_at=row.clock_started_at,
            due_at=row.due_at,
            waiting_since=row.waiting_since,
            is_first_reply=row.first_answered_at is None,
        )
    if row.task_due_at is not None:
        task = OpenTask(row.task_kind, row.task_title, row.task_due_at)
    return Candidate(row.contact_id, handoff, task, row.trigger)


def _clock(row: Row[Any], found: Rank, now: datetime, zone: str) -> ReplyClock:
    """Return the reply clock; a task has none, it shows when it is due."""
    clock = clock_of(row, now)
    if found.group is Group.TODAY and (clock is None or clock.state == "waiting"):
        # Never the bare time: among countdowns, 11:30 would be minutes and seconds.
        due = day_and_time(row.task_due_at, now=now, zone=zone)
        return ReplyClock("waiting", words=due.replace("Today ", "At "))
    if clock is not None and clock.state == "waiting":
        return ReplyClock("waiting", words="Their turn")
    return clock or ReplyClock("waiting", words="No clock")


def _last_text(row: Row[Any]) -> str:
    """Return the lead's own last words; what we said last is not why they stand here."""
    if row.last_direction != "in":
        return ""
    return last_words(text=row.last_text, kind=row.last_kind)


def _channel(row: Row[Any]) -> str:
    by_sms = row.last_inbound_at is not None and row.whatsapp_inbound_at != row.last_inbound_at
    return "SMS" if by_sms else "WhatsApp"


def _segments(numbers: Row[Any], filters: Filters) -> tuple[SegmentOption, ...]:
    counts = {"": numbers.everything, **{key: getattr(numbers, key) for key in SEGMENTS}}
    return tuple(
        SegmentOption(
            key=key or "all",
            label=label,
            href=filters.url("/queue", segment=key),
            count=counts[key],
            is_current=filters.segment == key,
        )
        for key, label in {"": "All", **SEGMENTS}.items()
    )


def _stages(filters: Filters) -> tuple[StageOption, ...]:
    every = StageOption("", "Every stage", not filters.stage)
    return (every, *(StageOption(stage, stage_words(stage), filters.stage == stage) for stage in STAGES))


def _empty(filters: Filters) -> dict[str, str]:
    if not (filters.segment or filters.stage):
        return {}
    return {
        "empty_words": "Nobody stands in this part of the queue.",
        "empty_href": "/queue",
        "empty_action": "Show the whole queue",
    }


_HANDOFF = """
SELECT h.id, h.status, h.contact_id, h.owner_id, h.team, u.name AS owner_name, c.name,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = h.contact_id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone,
    EXISTS (SELECT 1 FROM enrolments e WHERE e.contact_id = h.contact_id AND e.automation <> 'completed') AS has_journey
FROM handoffs h
JOIN contacts c ON c.id = h.contact_id
LEFT JOIN users u ON u.id = h.owner_id
WHERE h.id = :id
"""


@dataclass(frozen=True, slots=True)
class HandoffSeen:
    """An open handoff that a person may act on."""

    id: int
    contact_id: int
    owner_id: int | None
    owner_name: str | None
    team: str
    lead_name: str
    has_journey: bool


async def load_handoff(uow: UnitOfWork, *, handoff_id: int, viewer: Viewer) -> HandoffSeen:
    """Return an open handoff: one's own or the pool's, a manager's any.

    Raises `NotFound` for a colleague's and `Conflict` for one that has ended.
    """
    known = is_row_id(handoff_id)
    row = (await uow.execute(_HANDOFF, {"id": handoff_id})).one_or_none() if known else None
    is_theirs = row is not None and (row.owner_id in (None, viewer.user_id) or viewer.is_one_of(Role.MANAGER))
    if row is None or not is_theirs:
        raise NotFound("There is no such handoff, or it belongs to a colleague.")
    if row.status == "closed":
        raise Conflict("This lead's handoff is closed already.")
    name = display_name(row.name, row.phone)
    return HandoffSeen(row.id, row.contact_id, row.owner_id, row.owner_name, row.team, name, row.has_journey)


async def assignment_form(uow: UnitOfWork, *, handoff: HandoffSeen) -> AssignmentForm:
    """Return the dialog that gives a handoff away, with the loads that routing sees."""
    options = await advisers_for_assignment(uow, team=handoff.team)
    return AssignmentForm(
        handoff_id=handoff.id,
        lead_name=handoff.lead_name,
        advisers=tuple(
            AdviserChoice(
                user_id=option.user_id,
                name=option.name,
                note=_note(option.state, is_taking=option.is_taking, is_full=option.load >= option.capacity),
                load=option.load,
                capacity=option.capacity,
                is_ready=option.is_ready,
                is_owner=option.user_id == handoff.owner_id,
            )
            for option in options
        ),
        owner_name=handoff.owner_name,
        asks_reason=any(option.load >= option.capacity for option in options),
    )


def outcome_form(handoff: HandoffSeen, *, earliest_date: str, lengths: CooldownLengths) -> OutcomeForm:
    """Return the dialog that asks how it ended."""
    return OutcomeForm(
        handoff_id=handoff.id,
        lead_name=handoff.lead_name,
        earliest_date=earliest_date,
        has_journey=handoff.has_journey,
        lost_words=lost_words(lengths),
    )


def _note(state: str, *, is_taking: bool, is_full: bool) -> str:
    if state != "ready":
        return {"away": "Away", "invited": "Invited, not ready yet", "training": "In training"}.get(
            state, state
        )
    if is_full:
        return "Full"
    return "Takes new leads" if is_taking else "Takes no new leads now"
