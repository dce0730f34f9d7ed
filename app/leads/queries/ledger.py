"""The ledger of one person (and of everybody merged into them), newest first, with the names it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from app.campaigns.domain.definition import MessageStep
from app.campaigns.versions import load_versions
from app.db.session import UnitOfWork
from app.kernel.errors import Invalid
from app.kernel.row_ids import is_row_id
from app.leads.journey import Line, Names, SentMessage, Teller, send_of
from app.web.pagination import Page, key_of, page_of
from app.web.views import TimelineEvent

PAGE: Final = 60
_SIGNAL: Final = re.compile(r"signal:([0-9]{1,18})")
_USER: Final = re.compile(r"user:([0-9]{1,18})")

_EVENTS = """
SELECT l.id, l.type, l.at, l.actor, l.cause, l.enrolment_id, l.data,
    (SELECT jsonb_object_agg(f.name, f.value) FROM ledger_facts f
     WHERE f.contact_id = l.contact_id AND f.ledger_id = l.id) AS facts
FROM ledger l
WHERE l.contact_id = ANY(CAST(:people AS bigint[])) AND (CAST(:before AS bigint) IS NULL OR l.id < :before)
ORDER BY l.id DESC LIMIT :limit
"""


async def load_timeline(
    uow: UnitOfWork,
    *,
    people: Sequence[int],
    zone: str,
    now: datetime,
    before: str | None = None,
    size: int = PAGE,
) -> Page[TimelineEvent]:
    """Return a page of events in words. Raises `Invalid` for a cursor that was not made here."""
    page = await load_lines(uow, people=people, before=before, size=size)
    teller = Teller(await load_names(uow, page.rows), zone, now)
    told = tuple(teller.tell(line, is_latest=before is None and n == 0) for n, line in enumerate(page.rows))
    return Page(told, page.next_cursor)


async def load_lines(
    uow: UnitOfWork, *, people: Sequence[int], before: str | None = None, size: int = PAGE
) -> Page[Line]:
    """Return a page of events as stored."""
    values = {"people": list(people), "before": read_cursor(before), "limit": size + 1}
    rows = (await uow.execute(_EVENTS, values)).all()
    return page_of([_line(row) for row in rows], size=size, key=lambda line: (line.id,))


def read_cursor(cursor: str | None) -> int | None:
    """Return the id in a cursor; None for the first page. Raises `Invalid` for one that was not made here."""
    key = key_of(cursor, length=1)
    if key is None:
        return None
    if not isinstance(key[0], int) or not is_row_id(key[0]):
        raise Invalid(
            "This page of the list no longer exists. Start again from its beginning.", field="cursor"
        )
    return key[0]


def _line(row: Row[Any]) -> Line:
    return Line(row.id, row.type, row.at, row.actor, row.cause, row.enrolment_id, row.data, row.facts or {})


async def load_names(uow: UnitOfWork, lines: Sequence[Line]) -> Names:
    """Return the names of all that these events refer to: a fixed number of statements."""
    sends = await _sends(uow, _numbers(send_of(line.data) for line in lines))
    templates = {
        row.key: row.name
        for row in await uow.execute(
            "SELECT DISTINCT ON (key) key, name FROM templates ORDER BY key, language = 'en' DESC"
        )
    }
    campaigns, keys, steps = await _campaigns(uow, _numbers(line.enrolment_id for line in lines), templates)
    return Names(
        users=await _users(uow, _user_ids(lines)),
        sends=sends,
        inbound=await _inbound(uow, _matches(_SIGNAL, (line.cause for line in lines))),
        templates=templates,
        steps=steps,
        campaigns=campaigns,
        campaign_keys=keys,
    )


async def _sends(uow: UnitOfWork, ids: Sequence[int]) -> dict[int, SentMessage]:
    rows = await uow.execute(
        "SELECT s.id, s.kind, u.name AS author, m.text, (SELECT t.name FROM templates t WHERE t.key = s.template_key "
        "ORDER BY t.language = 'en' DESC, t.id LIMIT 1) AS template "
        "FROM sends s LEFT JOIN messages m ON m.send_id = s.id LEFT JOIN users u ON u.id = s.author_id "
        "WHERE s.id = ANY(CAST(:ids AS bigint[]))",
        {"ids": ids},
    )
    return {row.id: SentMessage(row.kind, row.template, row.author, row.text) for row in rows}


async def _inbound(uow: UnitOfWork, ids: Sequence[int]) -> dict[int, str]:
    rows = await uow.execute(
        "SELECT signal_id, text FROM messages WHERE signal_id = ANY(CAST(:ids AS bigint[])) AND text <> ''",
        {"ids": ids},
    )
    return {row.signal_id: row.text for row in rows}


async def _users(uow: UnitOfWork, ids: Sequence[int]) -> dict[int, str]:
    rows = await uow.execute(
        "SELECT id, name FROM users WHERE id = ANY(CAST(:ids AS bigint[]))", {"ids": ids}
    )
    return {row.id: row.name for row in rows}


async def _campaigns(
    uow: UnitOfWork, ids: Sequence[int], templates: dict[str, str]
) -> tuple[dict[int, str], dict[str, str], dict[tuple[int, str], str]]:
    """Return campaigns by enrolment and by key, and what each message step is called by enrolment."""
    rows = (
        await uow.execute(
            "SELECT key, name, CAST(NULL AS bigint) AS id, CAST(NULL AS bigint) AS version_id "
            "FROM campaigns UNION ALL SELECT k.key, k.name, e.id, e.version_id FROM enrolments e "
            "JOIN campaigns k ON k.id = e.campaign_id WHERE e.id = ANY(CAST(:ids AS bigint[]))",
            {"ids": ids},
        )
    ).all()
    enrolments = [row for row in rows if row.id is not None]
    versions = await load_versions(uow, {row.version_id for row in enrolments})
    steps = {
        (row.id, step.key): templates.get(step.template, step.template.replace("_", " "))
        for row in enrolments
        for path in versions[row.version_id].paths.values()
        for step in path.steps
        if isinstance(step, MessageStep)
    }
    return {row.id: row.name for row in enrolments}, {row.key: row.name for row in rows}, steps


def _user_ids(lines: Sequence[Line]) -> list[int]:
    named = _numbers(
        line.data.get(name) for line in lines for name in ("owner_id", "user_id", "previous_owner_id")
    )
    acting = _matches(_USER, (text for line in lines for text in (line.actor, line.cause)))
    return sorted({*named, *acting})


def _numbers(values: Iterable[object]) -> list[int]:
    return sorted({value for value in values if isinstance(value, int)})


def _matches(pattern: re.Pattern[str], texts: Iterable[str | None]) -> list[int]:
    found = (pattern.fullmatch(text) for text in texts if text)
    return sorted({int(match[1]) for match in found if match})
