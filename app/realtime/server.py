"""The Socket.IO server: sockets of signed-in people only, each in the rooms they may watch.

Nothing is remembered between connections: a page names its topics at each connect, and each is checked
anew. The
rooms of a session that has ended are cut off within `recheck_seconds`, at once on its own process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import socketio
import structlog

from app.kernel.origins import is_own_origin
from app.kernel.roles import Role
from app.realtime.redis_rooms import RedisRooms
from app.realtime.rooms import MAX_TOPICS, may_watch, parse_topic

log = structlog.get_logger(__name__)

PATH = "socket.io"
NAMESPACE = "/"
HANG_UP_SECONDS = 2.0


class Watcher(Protocol):
    """The signed-in person behind a socket."""

    @property
    def user_id(self) -> int: ...

    @property
    def role(self) -> Role: ...

    @property
    def session_hash(self) -> str: ...


Authenticate = Callable[[str], Awaitable[Watcher | None]]
"""From the cookie's secret to the person, by the database; None where the session is over or was never
one.
"""

StillOpen = Callable[[Collection[str]], Awaitable[Collection[str]]]
"""From session hashes to those that are still open."""


@dataclass(frozen=True, slots=True)
class _Seat:
    """One socket: whose session it hangs on."""

    session_hash: str
    secret: str


class Realtime:
    """The server, its rooms and its watch over sessions. `start` and `stop` belong to the application's
    lifespan.
    """

    def __init__(
        self,
        *,
        rooms: RedisRooms,
        authenticate: Authenticate,
        still_open: StillOpen,
        cookie_name: str,
        public_base_url: str,
        recheck_seconds: float = 20.0,
    ) -> None:
        self.rooms = rooms
        self._authenticate = authenticate
        self._still_open = still_open
        self._cookie_name = cookie_name
        self._public_base_url = public_base_url
        self._recheck_seconds = recheck_seconds
        self._recheck_now = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._seats: dict[str, _Seat] = {}
        self._standing: set[str] = set()
        self.sio = socketio.AsyncServer(
            async_mode="asgi",
            client_manager=rooms,
            transports=["websocket"],
            cors_allowed_origins=self._is_own,
            cors_credentials=False,
            max_http_buffer_size=16_384,
            logger=False,
            engineio_logger=False,
        )
        self.sio.on("connect", self._connect)
        self.sio.on("disconnect", self._disconnect)
        self.sio.on("watch", self._watch)
        rooms.on_gap = self._tell_all_to_look

    def asgi(self, other: Any) -> Any:
        """Return an ASGI application that serves sockets and hands everything else, lifespan too, to
        `other`.
        """
        return socketio.ASGIApp(self.sio, other_asgi_app=other, socketio_path=PATH)

    async def start(self) -> None:
        """Begin to listen to other processes and to watch over sessions."""
        self.sio.manager_initialized = True
        self.rooms.initialize()
        self._task = asyncio.get_running_loop().create_task(self._watch_over_sessions())

    async def stop(self) -> None:
        """Cut every socket off and end the background work; pages reconnect elsewhere."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(self._hang_up(eio_sid) for eio_sid in list(self.sio.eio.sockets)))
        await self.rooms.stop()
        await self.sio.shutdown()

    def recheck_soon(self) -> None:
        """Look at once for sessions that have ended (call after a sign-out)."""
        self._recheck_now.set()

    async def check(self) -> None:
        """Raise unless events of other processes reach this one: for the health answer."""
        await self.rooms.check()

    async def _connect(self, sid: str, environ: Mapping[str, Any], auth: object = None) -> None:
        secret = _cookie(environ.get("HTTP_COOKIE", ""), self._cookie_name)
        watcher = None
        if secret and self._is_own(environ.get("HTTP_ORIGIN"), environ):
            watcher = await self._authenticate(secret)
        if watcher is None:
            raise socketio.exceptions.ConnectionRefusedError("sign_in")
        self._seats[sid] = _Seat(session_hash=watcher.session_hash, secret=secret)

    async def _disconnect(self, sid: str, reason: object = None) -> None:
        self._seats.pop(sid, None)

    async def _watch(self, sid: str, asked: object = None) -> dict[str, list[str]]:
        """Join the topics that may be watched and leave all others; the answer names both sorts."""
        seat = self._seats.get(sid)
        watcher = await self._authenticate(seat.secret) if seat else None
        if watcher is None:
            await self.sio.disconnect(sid)
            return {"joined": [], "refused": []}
        names = [str(name)[:80] for name in asked[:MAX_TOPICS]] if isinstance(asked, list) else []
        joined = [name for name in dict.fromkeys(names) if _is_open(name, watcher)]
        refused = [name for name in dict.fromkeys(names) if name not in joined]
        for room in set(self.sio.rooms(sid)) - {sid, *joined}:
            await self.sio.leave_room(sid, room)
        for room in joined:
            await self.sio.enter_room(sid, room)
        if refused:
            log.info("realtime.refused", user_id=watcher.user_id, topics=len(refused))
        return {"joined": joined, "refused": refused}

    async def _watch_over_sessions(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._recheck_now.wait(), self._recheck_seconds)
            except TimeoutError:
                pass
            self._recheck_now.clear()
            try:
                await self._cut_off_ended()
                await self._cut_off_unknown()
            except Exception as error:  # the database may be away for a while; the next look comes soon
                log.warning("realtime.recheck_failed", error=type(error).__name__)

    async def _cut_off_ended(self) -> None:
        seats = dict(self._seats)
        if not seats:
            return
        still_open = set(await self._still_open({seat.session_hash for seat in seats.values()}))
        for sid, seat in seats.items():
            if seat.session_hash not in still_open:
                await self.sio.disconnect(sid)

    async def _cut_off_unknown(self) -> None:
        """Close connections that were refused, or never said who they are, since the last look."""
        known = {self.rooms.eio_sid_from_sid(sid, NAMESPACE) for sid in self._seats}
        unknown = set(self.sio.eio.sockets) - known
        await asyncio.gather(*(self._hang_up(eio_sid) for eio_sid in unknown & self._standing))
        self._standing = unknown

    async def _hang_up(self, eio_sid: str) -> None:
        """Close a connection. The library waits for its last packet to be written, for ever where the connection
        has just died; that must hold up neither a stop nor the watch over the others.
        """
        try:
            async with asyncio.timeout(HANG_UP_SECONDS):
                await self.sio.eio.disconnect(eio_sid)
        except TimeoutError:
            self.sio.eio.sockets.pop(eio_sid, None)
            log.info("realtime.already_dead")

    async def _tell_all_to_look(self) -> None:
        """After a gap: every page of this process fetches what it may have missed."""
        await self.rooms.emit("resync", {}, namespace=NAMESPACE, ignore_queue=True)

    def _is_own(self, origin: str | None, environ: Mapping[str, Any]) -> bool:
        return is_own_origin(origin, public_base_url=self._public_base_url, host=environ.get("HTTP_HOST"))


def _is_open(name: str, watcher: Watcher) -> bool:
    topic = parse_topic(name)
    return topic is not None and may_watch(topic, user_id=watcher.user_id, role=watcher.role)


def _cookie(header: str, name: str) -> str:
    """Return one cookie; others of this host may be of any shape (cookies know no ports)."""
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
