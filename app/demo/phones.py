"""Tells the simulator what the demo is about: templates, names, what the phones saw before, and the demo time.

The simulator knows nothing of campaigns; this is the only bridge, and it exists in the demo alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import aiohttp
import structlog

from app.clock import DemoClock
from app.db.demo_clock import ClockFollower
from app.db.session import Database
from app.demo.cast import OPENS_AT
from app.demo.organisation import SENDER, SERVICE

log = structlog.get_logger(__name__)

RETRY_SECONDS = 1.0
LOOK_SECONDS = 0.5
CALL_SECONDS = 10.0
CHUNK = 500


class PhoneGuide:
    """Keeps the simulator informed while the web process runs."""

    def __init__(self, *, database: Database, clock: DemoClock, simulator_url: str) -> None:
        self._database = database
        self._clock = clock
        self._url = simulator_url
        self._moved = asyncio.Event()

    def follower(self) -> ClockFollower:
        """Return a clock follower that also tells this guide of every change."""
        return ClockFollower(self._database, self._clock, self._moved)

    async def run(self) -> None:
        """Introduce the demo once the simulator answers, then pass every move of the clock on. Ends with cancel."""
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
        async with aiohttp.ClientSession(self._url, timeout=timeout) as session:
            await self._until_it_answers(self._introduce, session)
            told = None
            while True:
                if told != self._clock.reading:  # whoever moved it: this process, or another
                    told = self._clock.reading
                    await self._until_it_answers(self._tell_time, session)
                self._moved.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), LOOK_SECONDS)

    async def _until_it_answers(self, tell: Any, session: aiohttp.ClientSession) -> None:
        while True:
            try:
                await tell(session)
                return
            except (aiohttp.ClientError, TimeoutError) as error:
                log.info("simulator.silent", error=type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)

    async def _introduce(self, session: aiohttp.ClientSession) -> None:
        await self._tell_time(session)
        await _post(session, "/control/services", {"sid": SERVICE, "senders": [f"whatsapp:{SENDER}"]})
        await _post(session, "/control/contents", await self._contents())
        for chunk in _chunks(await self._profiles()):
            await _post(session, "/control/profiles", chunk)
        for chunk in _chunks(await self._history()):
            await _post(session, "/control/history", chunk)

    async def _tell_time(self, session: aiohttp.ClientSession) -> None:
        shows = {"shows": self._clock.now().isoformat(), "rate": self._clock.reading.rate}
        async with session.put("/control/clock", json=shows) as answer:
            answer.raise_for_status()

    async def _contents(self) -> list[dict[str, Any]]:
        rows = await self._rows(
            "SELECT content_sid, body, language, buttons, variables FROM templates WHERE content_sid IS NOT NULL"
        )
        return [
            {
                "sid": row.content_sid,
                "body": row.body,
                "language": row.language,
                "buttons": [
                    {"title": b["title"], "kind": "quick_reply", "payload": b.get("payload", "")}
                    for b in row.buttons
                ],
                "variables": {v["name"]: v.get("sample", "") for v in row.variables},
            }
            for row in rows
        ]

    async def _profiles(self) -> list[dict[str, Any]]:
        rows = await self._rows(
            "SELECT i.value AS number, c.name FROM contacts c JOIN contact_identities i ON i.contact_id = c.id "
            "WHERE i.kind = 'phone' AND c.name IS NOT NULL AND c.created_at < :opens ORDER BY c.id",
            opens=OPENS_AT,
        )
        return [{"number": row.number, "name": row.name} for row in rows]

    async def _history(self) -> list[dict[str, Any]]:
        rows = await self._rows(
            "SELECT i.value AS phone, m.direction, m.at, m.text, s.content ->> 'content_sid' AS content_sid, s.status, "
            "coalesce(g.provider_message_id, a.provider_message_id) AS sid "
            "FROM messages m JOIN contact_identities i ON i.contact_id = m.contact_id AND i.kind = 'phone' "
            "LEFT JOIN sends s ON s.id = m.send_id LEFT JOIN signals g ON g.id = m.signal_id "
            "LEFT JOIN LATERAL (SELECT provider_message_id FROM send_attempts WHERE send_id = s.id "
            "ORDER BY n DESC LIMIT 1) a ON true WHERE m.at < :opens ORDER BY m.at, m.id",
            opens=OPENS_AT,
        )
        return [
            {
                "phone": row.phone,
                "direction": "inbound" if row.direction == "in" else "outbound-api",
                "at": row.at.isoformat(),
                "body": row.text or "",
                "business": f"whatsapp:{SENDER}",
                "sid": row.sid,
                "content_sid": row.content_sid,
                "status": row.status if row.status in ("sent", "delivered", "read") else "read",
            }
            for row in rows
            if row.sid is not None
        ]

    async def _rows(self, sql: str, **values: Any) -> Sequence[Any]:
        async with self._database.reading() as uow:
            return (await uow.execute(sql, values)).all()


async def _post(session: aiohttp.ClientSession, path: str, body: object) -> None:
    async with session.post(path, json=body) as answer:
        if answer.status == 400:
            log.error("simulator.refused", path=path, answer=(await answer.text())[:300])
        answer.raise_for_status()


def _chunks(items: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [items[i : i + CHUNK] for i in range(0, len(items), CHUNK)]
