"""The simulator's SQLite file: documents by kind and key, written in micro-batches."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
)
"""
_UPSERT = """
INSERT INTO documents (kind, key, body) VALUES (?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body
"""


class Store:
    """Keeps documents through a restart of the simulator.

    Writes of one turn of the event loop share one transaction. SQLite runs in the loop itself: a batch takes
    well under a
    millisecond (WAL, no sync per commit), while a second thread would wait for the interpreter's lock at
    every row.
    What is written survives the death of any process; a power cut may cost the last moments.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)
        self._encoder = msgspec.json.Encoder()
        self._pending: dict[tuple[str, str], object] = {}
        self._written: asyncio.Future[None] | None = None

    def load(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """Yield the key and JSON of every document of a kind, oldest first."""
        yield from self._connection.execute(
            "SELECT key, body FROM documents WHERE kind = ? ORDER BY rowid", (kind,)
        )

    def put(self, kind: str, key: str, document: object) -> None:
        """Keep a document; it is in the file once `written()` returns."""
        self._pending[(kind, key)] = document
        self._batch()

    async def written(self) -> None:
        """Return when everything put so far is in the file. Raises sqlite3.Error when it could not be
        written.
        """
        if self._pending:
            await asyncio.shield(self._batch())

    def clear(self) -> None:
        """Forget everything, at once."""
        self._pending.clear()
        self._connection.execute("DELETE FROM documents")

    def close(self) -> None:
        """Write what is left and close the file."""
        if self._pending:
            self._write()
        self._connection.close()

    def _batch(self) -> asyncio.Future[None]:
        if self._written is None:
            loop = asyncio.get_running_loop()
            self._written = loop.create_future()
            loop.call_soon(self._write_batch)
        return self._written

    def _write_batch(self) -> None:
        future, self._written = self._written, None
        try:
            self._write()
        except sqlite3.Error as error:
            if future is not None and not future.done():
                future.set_exception(error)
                future.exception()  # a batch nobody waits for must not be reported twice
        else:
            if future is not None and not future.done():
                future.set_result(None)

    def _write(self) -> None:
        rows = [
            (kind, key, self._encoder.encode(document)) for (kind, key), document in self._pending.items()
        ]
        self._pending.clear()
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany(_UPSERT, rows)
        except sqlite3.Error:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
