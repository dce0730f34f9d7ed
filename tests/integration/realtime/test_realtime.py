"""Sockets: signed-in people only, each topic checked, and events that arrive from every process and after every gap."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace

import pytest
import socketio
from engineio.async_socket import AsyncSocket
from redis.exceptions import RedisError
from socketio.exceptions import ConnectionError as Refused

from app.config import PROJECT_ROOT, Settings
from app.db.session import Database, make_engine
from app.kernel.roles import Role
from app.main import Pace, Ports
from app.realtime.push import Pusher, push
from app.realtime.redis_rooms import RedisRooms, make_redis
from app.realtime.server import Realtime
from tests.fixtures.site import Browser, Site, running_site
from tests.integration.realtime.cable import Cable, cable_to

QUICK = Ports(pace=Pace(beat=0.15, silence=0.6, recheck=0.3))
SECONDS = 8.0


class Page:
    """What a page hears on its socket."""

    def __init__(self, client: socketio.AsyncClient, topics: list[str]) -> None:
        self.client = client
        self.topics = topics
        self.heard: list[tuple[str, dict[str, object]]] = []
        self.answers: list[dict[str, list[str]]] = []
        client.on("*", self._hear)
        client.on("connect", self._watch)

    async def hears(self, topic: str) -> dict[str, object]:
        """Return the first event of a topic, once it has arrived."""
        await until(lambda: any(name == topic for name, _ in self.heard))
        return next(data for name, data in self.heard if name == topic)

    def _hear(self, topic: str, data: dict[str, object]) -> None:
        self.heard.append((topic, data))

    async def _watch(self) -> None:
        await self.client.emit("watch", self.topics, callback=self.answers.append)


@pytest.fixture
async def cable(redis_url: str) -> AsyncIterator[tuple[Cable, str]]:
    async with cable_to(redis_url) as pair:
        yield pair


@pytest.fixture
async def site(module_settings: Settings, cable: tuple[Cable, str]) -> AsyncIterator[Site]:
    async with running_site(replace(module_settings, redis_url=cable[1]), QUICK) as site:
        await site.begin_anew()
        yield site


@pytest.fixture
async def worker_rooms(redis_url: str) -> AsyncIterator[RedisRooms]:
    redis = make_redis(redis_url)
    yield RedisRooms(redis, write_only=True)
    await redis.aclose()


async def open_page(browser: Browser, *topics: str) -> Page:
    client = await browser.socket(reconnection=True)
    page = Page(client, list(topics))
    await page._watch()
    await until(lambda: bool(page.answers))
    return page


async def come_in(site: Site, role: Role) -> tuple[Browser, int]:
    email = f"{role.value}@example.org"
    user_id = await site.add_person(email, role)
    return await site.signed_in(email), user_id


async def test_a_socket_without_a_session_is_refused(site: Site) -> None:
    with pytest.raises(Refused):
        await site.browser().socket()


async def test_a_socket_of_a_foreign_page_is_refused(site: Site) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    with pytest.raises(Refused):
        await browser.socket(origin="https://evil.example")


async def test_a_refused_connection_does_not_stay_open(site: Site) -> None:
    browser = site.browser()
    with pytest.raises(Refused):
        await browser.socket()
    await until(lambda: browser.sockets[0].eio.state == "disconnected")


@pytest.mark.parametrize(
    ("role", "joined"),
    [
        (Role.ADVISER, {"pool", "inbox", "lead:7", "conversation:7", "import:1"}),
        (Role.MANAGER, {"pool", "inbox", "team", "lead:7", "conversation:7", "import:1"}),
        (Role.MARKETER, {"import:1"}),
        (Role.ADMIN, {"pool", "inbox", "team", "lead:7", "conversation:7", "import:1"}),
    ],
)
async def test_each_topic_is_checked_for_the_role(site: Site, role: Role, joined: set[str]) -> None:
    browser, user_id = await come_in(site, role)
    asked = ["pool", "inbox", "team", "lead:7", "conversation:7", "import:1"]
    foreign = [f"user:{user_id + 1}", "user", "pool:1", "lead", "nonsense:1", "session:x", ""]
    page = await open_page(browser, f"user:{user_id}", *asked, *foreign)
    assert set(page.answers[0]["joined"]) == joined | {f"user:{user_id}"}
    assert set(page.answers[0]["refused"]) == (set(asked) - joined) | set(foreign)


async def test_a_foreign_topic_is_not_heard(site: Site, worker_rooms: RedisRooms) -> None:
    browser, user_id = await come_in(site, Role.ADVISER)
    page = await open_page(browser, f"user:{user_id}", f"user:{user_id + 1}", "team")
    for topic in (f"user:{user_id + 1}", "team", f"user:{user_id}"):
        await push(worker_rooms, topic)
    await page.hears(f"user:{user_id}")
    assert [topic for topic, _ in page.heard] == [f"user:{user_id}"]


async def test_watching_anew_leaves_what_is_no_longer_asked_for(site: Site, worker_rooms: RedisRooms) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "lead:7")
    page.topics = ["lead:8"]
    await page._watch()
    await until(lambda: len(page.answers) == 2)
    for topic in ("lead:7", "lead:8"):
        await push(worker_rooms, topic)
    await page.hears("lead:8")
    assert [topic for topic, _ in page.heard] == ["lead:8"]


async def test_a_push_of_another_process_reaches_the_room(site: Site, redis_url: str) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "pool")
    code = (
        "import asyncio, sys\n"
        "from app.realtime.push import push\n"
        "from app.realtime.redis_rooms import RedisRooms, make_redis\n"
        "async def main():\n"
        "    redis = make_redis(sys.argv[1])\n"
        "    await push(RedisRooms(redis, write_only=True), 'pool', handoff_id=3)\n"
        "    await redis.aclose()\n"
        "asyncio.run(main())\n"
    )
    run = [sys.executable, "-c", code, redis_url]
    await asyncio.to_thread(subprocess.run, run, check=True, cwd=PROJECT_ROOT)
    data = await page.hears("pool")
    assert data["handoff_id"] == 3
    assert isinstance(data["v"], int)


async def test_t03_a_restarted_server_gets_every_room_back(site: Site, worker_rooms: RedisRooms) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "pool", "conversation:7")
    await site.stop()
    await site.start()
    await until(lambda: len(page.answers) == 2)
    assert page.answers[1]["joined"] == ["pool", "conversation:7"]
    await push(worker_rooms, "conversation:7", message_id=1)
    assert (await page.hears("conversation:7"))["message_id"] == 1


@pytest.mark.parametrize("fault", ["cut", "drop", "silence"])
async def test_t05_the_listener_comes_back_after_redis_was_away(
    site: Site, cable: tuple[Cable, str], worker_rooms: RedisRooms, fault: str
) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "pool")
    getattr(cable[0], fault)()
    if fault != "drop":
        await until_health(browser, "unavailable")
        await push(worker_rooms, "pool", lost=True)
        cable[0].mend()
    assert await page.hears("resync") == {}, "what was pushed meanwhile is lost, so the page looks for itself"
    await until_health(browser, "ok")
    await push(worker_rooms, "pool", lost=False)
    assert (await page.hears("pool"))["lost"] is False


async def test_a_request_does_not_fail_while_redis_is_away(site: Site, cable: tuple[Cable, str]) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    token = await browser.token("/demo/clock")
    cable[0].cut()
    answer = await browser.post("/demo/clock", {"csrf_token": token, "advance": "PT1H"}, HX_Request="true")
    assert answer.status_code == 200
    assert (await browser.post("/sessions/end", {"csrf_token": token})).status_code == 303


async def test_signing_out_cuts_the_sockets_of_that_session_only(site: Site) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    other = await site.signed_in("adviser@example.org")
    page, kept = await open_page(browser, "pool"), await open_page(other, "pool")
    await browser.post("/sessions/end", {"csrf_token": await browser.token("/demo/clock")})
    await until(lambda: not page.client.connected)
    assert kept.client.connected


async def test_a_session_that_ended_elsewhere_is_cut_off_within_the_recheck(site: Site) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "pool")
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE sessions SET expires_at = clock_timestamp()")
    await until(lambda: not page.client.connected)


async def test_a_connection_that_has_just_died_holds_up_neither_the_watch_nor_the_stop(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.realtime.server.HANG_UP_SECONDS", 0.2)
    redis = make_redis(redis_url)
    realtime = Realtime(
        rooms=RedisRooms(redis),
        authenticate=nobody,
        still_open=none_of_them,
        cookie_name="session",
        public_base_url="http://127.0.0.1",
        recheck_seconds=0.1,
    )
    await realtime.start()
    connections = realtime.sio.eio.sockets
    connections["at the watch"] = AsyncSocket(
        realtime.sio.eio, "at the watch"
    )  # nothing writes for it any more
    await until(lambda: not connections)
    connections["at the stop"] = AsyncSocket(realtime.sio.eio, "at the stop")
    async with asyncio.timeout(SECONDS):
        await realtime.stop()
    await redis.aclose()


async def test_a_role_that_was_taken_away_counts_at_the_next_watch(site: Site) -> None:
    browser, _ = await come_in(site, Role.MANAGER)
    page = await open_page(browser, "team")
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE users SET role = 'marketer'")
    await page._watch()
    await until(lambda: len(page.answers) == 2)
    assert page.answers[1] == {"joined": [], "refused": ["team"]}


async def test_pushes_go_out_after_the_commit_once_for_each_topic(site: Site, redis_url: str) -> None:
    browser, _ = await come_in(site, Role.ADVISER)
    page = await open_page(browser, "pool", "lead:7")
    database = Database(make_engine(site.settings.database_url, pool_size=1))
    redis = make_redis(redis_url)
    pusher = Pusher.over(RedisRooms(redis, write_only=True))
    async with database.transaction() as uow:
        for n in range(20):
            pusher.later(uow, "pool", handoff_id=n)
        pusher.later(uow, "pool", kind="opened")
        await asyncio.sleep(0.3)
        assert page.heard == [], "nothing before the commit"

    async def fail() -> None:
        async with database.transaction() as uow:
            pusher.later(uow, "lead:7")
            raise RuntimeError("undo")

    with pytest.raises(RuntimeError, match="undo"):
        await fail()
    await pusher.close()
    pool = await page.hears("pool")
    assert (pool["handoff_id"], pool["kind"]) == (19, "opened")
    await asyncio.sleep(0.3)
    assert [topic for topic, _ in page.heard] == ["pool"], "one event, and none of what was rolled back"
    await redis.aclose()
    await database.engine.dispose()


async def test_a_burst_of_transactions_becomes_few_events_and_the_last_one_arrives() -> None:
    sent: list[dict[str, object]] = []

    async def emit(topic: str, data: dict[str, object]) -> None:
        sent.append(data)

    pusher = Pusher(emit, seconds=0.05)
    for n in range(50):
        pusher.soon("pool", n=n)
    await until(lambda: len(sent) == 1)
    pusher.soon("pool", n=50)
    await pusher.close()
    assert [data["n"] for data in sent] == [49, 50]


async def test_a_push_that_cannot_go_out_raises_nothing() -> None:
    redis = make_redis("redis://127.0.0.1:9/0", connect_seconds=0.2, answer_seconds=0.2)
    rooms = RedisRooms(redis, write_only=True)
    await push(rooms, "pool")
    with pytest.raises(RedisError):
        await rooms.check()
    await redis.aclose()


async def nobody(_: str) -> None:
    """Recognise nobody."""


async def none_of_them(_: Collection[str]) -> Collection[str]:
    """Say that no session is open."""
    return ()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 - a socket changes it, there is no event
            await asyncio.sleep(0.02)


async def until_health(browser: Browser, status: str) -> None:
    async with asyncio.timeout(SECONDS):
        while (await browser.get("/healthz")).json()["status"] != status:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)
