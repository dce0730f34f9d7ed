"""One thread: bubbles with the state of their sends, lines about what happened, days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.delivery import SendFacts, delivery_of
from app.inbox.domain.words import SYSTEM_LINES, last_words, media_of, system_line
from app.inbox.queries.open_thread import OpenThread
from app.inbox.queries.places import place_of, read_place
from app.inbox.views import Bubble, DayLine, Media, SystemLine, Thread, ThreadItem
from app.messaging.domain.rendering import cut
from app.web.pagination import Page, page_of

PAGE: Final = 60
LONGEST_QUOTE: Final = 120

_MESSAGES = """
SELECT m.id, m.direction, m.kind, m.text, m.media, m.extra, m.at, s.kind AS send_kind, s.status, s.reason,
    s.content ->> 'language' AS language, u.name AS author, tries.outcomes, tries.code,
    coalesce(ours.text, theirs.text) AS quoted, coalesce(ours.kind, theirs.kind) AS quoted_kind,
    m.replied_to IS NOT NULL AS is_reply
FROM messages m
LEFT JOIN sends s ON s.id = m.send_id
LEFT JOIN users u ON u.id = s.author_id
LEFT JOIN LATERAL (
    SELECT jsonb_agg(a.outcome ORDER BY a.n) AS outcomes, (array_agg(a.error_code ORDER BY a.n DESC))[1] AS code
    FROM send_attempts a WHERE a.send_id = m.send_id) tries ON true
LEFT JOIN LATERAL (
    SELECT q.text, q.kind FROM send_attempts a JOIN messages q ON q.send_id = a.send_id
    WHERE a.provider_message_id = m.replied_to LIMIT 1) ours ON true
LEFT JOIN LATERAL (
    SELECT q.text, q.kind FROM signals g JOIN messages q ON q.signal_id = g.id
    WHERE g.external_id = m.replied_to LIMIT 1) theirs ON true
WHERE m.contact_id = ANY(CAST(:people AS bigint[]))
  AND (CAST(:at AS timestamptz) IS NULL OR (m.at, m.id) < (CAST(:at AS timestamptz), CAST(:id AS bigint)))
ORDER BY m.at DESC, m.id DESC LIMIT :limit
"""
_LINES = """
SELECT l.id, l.type, l.at, l.data, u.name AS owner_name
FROM ledger l LEFT JOIN users u ON u.id = CAST(l.data ->> 'owner_id' AS bigint)
WHERE l.contact_id = ANY(CAST(:people AS bigint[])) AND l.type = ANY(CAST(:types AS text[]))
  AND (CAST(:since AS timestamptz) IS NULL OR l.at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR l.at < :until)
ORDER BY l.at, l.id LIMIT 200
"""


async def load_thread(
    uow: UnitOfWork, *, opened: OpenThread, zone: str, now: datetime, before: str | None = None
) -> Thread:
    """Return the newest messages, or those before a cursor, with lines and days in the reader's zone."""
    place = read_place(before)
    page = await _messages(uow, opened, place)
    messages = page.rows[::-1]
    lines = await uow.execute(
        _LINES,
        {
            "people": list(opened.people),
            "types": list(SYSTEM_LINES),
            "since": messages[0].at if page.next_cursor else None,
            "until": place[0] if place else None,
        },
    )
    named = str(opened.key)
    older = f"/inbox/{named}?{urlencode({'before': page.next_cursor})}" if page.next_cursor else None
    return Thread(
        conversation_id=named,
        version=opened.version,
        name=opened.name,
        items=_with_days(_merged(messages, lines.all(), opened, now), zone),
        topics=opened.topics,
        older_url=older,
        mode=opened.way.mode.value,
        is_unread=opened.unread > 0,
    )


async def _messages(
    uow: UnitOfWork, opened: OpenThread, place: tuple[datetime, int] | None
) -> Page[Row[Any]]:
    at, message_id = place or (None, None)
    values = {"people": list(opened.people), "at": at, "id": message_id, "limit": PAGE + 1}
    rows = (await uow.execute(_MESSAGES, values)).all()
    return page_of(rows, size=PAGE, key=lambda row: place_of(row.at, row.id))


def _merged(
    messages: Sequence[Row[Any]], lines: Sequence[Row[Any]], opened: OpenThread, now: datetime
) -> Iterable[Bubble | SystemLine]:
    """In order of time; of one moment the message comes first, then what followed from it."""
    items: list[tuple[datetime, int, int, Bubble | SystemLine]] = []
    items += [(row.at, 0, row.id, _bubble(row, opened, now)) for row in messages]
    items += [(row.at, 1, row.id, _line(row)) for row in lines]
    return [item for *_, item in sorted(items, key=lambda one: one[:3])]


def _with_days(items: Iterable[Bubble | SystemLine], zone: str) -> tuple[ThreadItem, ...]:
    done: list[ThreadItem] = []
    last: date | None = None
    for item in items:
        day = item.at.astimezone(ZoneInfo(zone)).date()
        if day != last:
            done.append(DayLine(key=f"day-{day.isoformat()}", at=item.at))
            last = day
        done.append(item)
    return tuple(done)


def _line(row: Row[Any]) -> SystemLine:
    return SystemLine(
        key=f"event-{row.id}", at=row.at, words=system_line(row.type, row.data, owner_name=row.owner_name)
    )


def _bubble(row: Row[Any], opened: OpenThread, now: datetime) -> Bubble:
    if row.direction == "in":
        return Bubble(
            key=str(row.id),
            way="in",
            at=row.at,
            text=row.text or "",
            state="received",
            media=_media(row),
            reply_to=_quote(row),
        )
    facts = SendFacts(
        row.send_kind or "system", row.status or "sent", row.reason, row.code, row.outcomes or ()
    )
    delivery = delivery_of(facts, is_window_open=opened.is_window_open(now))
    retry_url = f"/inbox/{opened.key}/messages/{row.id}/retry" if delivery.can_retry else None
    return Bubble(
        key=str(row.id),
        way="out",
        at=row.at,
        text=row.text or "",
        state=delivery.state,
        lang=row.language or None,
        source=_source(row),
        failure=delivery.failure,
        retry_url=retry_url,
        media=_media(row),
    )


def _source(row: Row[Any]) -> str:
    if row.send_kind == "adviser":
        return row.author or "Adviser"
    return "Campaign" if row.send_kind == "campaign" else "Automatic"


def _quote(row: Row[Any]) -> str:
    if not row.is_reply:
        return ""
    words = last_words(text=row.quoted, kind=row.quoted_kind)
    return cut(" ".join(words.split()), longest=LONGEST_QUOTE) if words else "An earlier message"


def _media(row: Row[Any]) -> tuple[Media, ...]:
    found = media_of(row.kind)
    if found is None:
        return ()
    kind, label = found
    if kind == "location":
        place = row.extra.get("location") or {}
        detail = str(place.get("label") or place.get("address") or _coordinates(place))
        return (Media(kind, label, detail),)
    count = max(1, len(row.media))
    return tuple(Media(kind, label) for _ in range(count))


def _coordinates(place: dict[str, Any]) -> str:
    if "latitude" not in place or "longitude" not in place:
        return ""
    return f"{place['latitude']:.5f}, {place['longitude']:.5f}"
