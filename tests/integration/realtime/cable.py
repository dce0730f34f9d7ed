"""A cable between the application and Redis that can be cut, or go silent without being cut (half-open TCP)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Cable:
    """Passes bytes on to a server until it is told not to."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_cut = False
        self.port = 0

    async def serve(self) -> asyncio.Server:
        """Begin to take connections on a free port."""
        server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def cut(self) -> None:
        """End every connection and refuse new ones."""
        self._is_cut = True
        self.drop()

    def drop(self) -> None:
        """End every connection."""
        for writer in list(self._writers):
            writer.close()

    def silence(self) -> None:
        """Keep every connection and pass nothing on: neither side learns of it."""
        self._flows.clear()

    def mend(self) -> None:
        """Pass everything on again; what was swallowed stays lost."""
        self._is_cut = False
        self.drop()
        self._flows.set()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, far_writer}
        try:
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
        finally:
            self._writers -= {writer, far_writer}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def cable_to(redis_url: str) -> AsyncIterator[tuple[Cable, str]]:
    """Give a cable to a Redis, and the address of its near end."""
    far = urlsplit(redis_url)
    cable = Cable(far.hostname or "127.0.0.1", far.port or 6379)
    server = await cable.serve()
    credentials = f"{far.netloc.rpartition('@')[0]}@" if "@" in far.netloc else ""
    yield cable, f"redis://{credentials}127.0.0.1:{cable.port}{far.path}"
    server.close()
    cable.cut()
    cable.mend()
    await asyncio.sleep(0.05)
