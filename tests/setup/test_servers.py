"""The embedded servers: shared while anybody uses them, gone afterwards, and never confused by a crash."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
import redis

from app.config import PROJECT_ROOT, LaunchSettings
from app.launch.attach import Addresses, servers
from app.launch.errors import LaunchError
from app.launch.home import Home, prepare_home
from app.launch.locks import is_held
from app.launch.place import remove_place, server_place
from app.launch.processes import command_line
from app.launch.state import read_state


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LaunchSettings]:
    """Give a home whose servers come and go during the module; they are durable, unlike those of the run."""
    launch = LaunchSettings.from_env({"WARMLINE_HOME": str(tmp_path_factory.mktemp("servers") / "home")})
    yield launch
    remove_place(Home(launch.home))


def quiet(text: str) -> None:
    """Say nothing."""


def ask(addresses: Addresses, query: str) -> object:
    async def run() -> object:
        connection = await asyncpg.connect(addresses.database_url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(run())


def pids(home: Path) -> dict[str, int]:
    state = read_state(Home(home))
    return {"postgres": state.postgres.pid or 0, "valkey": state.valkey.pid or 0}


def eventually(is_so: Callable[[], bool], *, within_seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + within_seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_they_work_and_are_gone_afterwards_and_the_data_stay(launch: LaunchSettings) -> None:
    with servers(launch, say=quiet) as addresses:
        assert ask(addresses, "SELECT current_setting('timezone') || current_setting('fsync')") == "UTCon"
        assert ask(
            addresses, "SELECT pg_encoding_to_char(encoding) || datlocale FROM pg_database LIMIT 1"
        ) == ("UTF8C.UTF-8")
        ask(addresses, "CREATE TABLE kept AS SELECT 7 AS seven")
        with redis.Redis.from_url(addresses.redis_url) as connection:
            assert connection.ping()
        running = pids(launch.home)
    assert not any(command_line(pid) for pid in running.values())
    with servers(launch, say=quiet) as addresses:
        assert ask(addresses, "SELECT seven FROM kept") == 7


def test_they_are_reachable_from_this_machine_only_and_with_the_password_only(launch: LaunchSettings) -> None:
    with servers(launch, say=quiet) as addresses:
        assert ask(addresses, "SELECT current_setting('listen_addresses')") == "127.0.0.1"
        assert ask(addresses, "SELECT current_setting('unix_socket_directories')") == ""
        password = read_state(Home(launch.home)).postgres.password
        wrong = addresses.database_url.replace(password, "guess")
        with pytest.raises(asyncpg.InvalidPasswordError):
            asyncio.run(asyncpg.connect(wrong))
        port = read_state(Home(launch.home)).valkey.port
        with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
        mode = Home(launch.home).servers_file.stat().st_mode
        assert mode & 0o077 == 0


def test_the_last_to_leave_stops_them(launch: LaunchSettings) -> None:
    first = servers(launch, say=quiet)
    addresses = first.__enter__()
    with servers(launch, say=quiet) as again:
        assert again.database_url == addresses.database_url
        first.__exit__(None, None, None)
        assert ask(again, "SELECT 1") == 1
        running = pids(launch.home)
    assert not command_line(running["postgres"])


def test_a_user_killed_outright_leaves_nothing_behind(launch: LaunchSettings) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from app.config import LaunchSettings; from app.launch.attach import servers\n"
        "with servers(LaunchSettings.from_env({'WARMLINE_HOME': sys.argv[1]}), say=lambda _: None):\n"
        "    print('up', flush=True); time.sleep(60)\n"
    )
    user = subprocess.Popen(
        [sys.executable, "-c", code, str(launch.home)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE
    )
    with user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"up\n"
        running = pids(launch.home)
        assert all(command_line(pid) for pid in running.values())
        user.kill()
    assert eventually(lambda: not any(command_line(pid) for pid in running.values()))
    assert eventually(lambda: not is_held(Home(launch.home).keeper_lock))


def test_a_server_that_crashes_is_started_again_on_its_port(launch: LaunchSettings) -> None:
    with servers(launch, say=quiet) as addresses:
        before = pids(launch.home)
        os.kill(before["postgres"], signal.SIGKILL)
        assert eventually(lambda: pids(launch.home)["postgres"] not in {0, before["postgres"]})
        assert ask(addresses, "SELECT 1") == 1
        assert read_state(Home(launch.home)).postgres.restarts == 1


def test_a_keeper_killed_outright_does_not_hinder_the_next(launch: LaunchSettings) -> None:
    with servers(launch, say=quiet):
        running = pids(launch.home)
        keeper = _parent(running["postgres"])
        os.kill(keeper, signal.SIGKILL)
        assert eventually(lambda: not is_held(Home(launch.home).keeper_lock))
    with servers(launch, say=quiet) as addresses:
        assert ask(addresses, "SELECT 1") == 1
        assert pids(launch.home)["postgres"] != running["postgres"]


def test_a_note_left_by_a_machine_that_went_down_is_not_believed(launch: LaunchSettings) -> None:
    """The process id in it belongs to somebody else by now: here, to this test."""
    place = server_place(prepare_home(launch.home))
    stale = place.write_secret(
        "postgres/postmaster.pid", f"{os.getpid()}\n{place.path / 'postgres'}\n1\n5432\n\n\n\n"
    )
    assert stale.exists()
    with servers(launch, say=quiet) as addresses:
        assert ask(addresses, "SELECT 1") == 1


def test_a_port_that_somebody_took_meanwhile_is_changed(launch: LaunchSettings) -> None:
    with servers(launch, say=quiet):
        port = read_state(Home(launch.home)).postgres.port
    with socket.create_server(("127.0.0.1", port)), servers(launch, say=quiet) as addresses:
        assert read_state(Home(launch.home)).postgres.port != port
        assert ask(addresses, "SELECT 1") == 1


def test_data_of_another_version_are_told_and_not_touched(launch: LaunchSettings) -> None:
    data = server_place(prepare_home(launch.home)).path / "postgres"
    (data / "PG_VERSION").write_text("15\n")
    try:
        with (
            pytest.raises(LaunchError, match=r"of PostgreSQL 15, and this is 18"),
            servers(launch, say=quiet),
        ):
            pass
    finally:
        (data / "PG_VERSION").write_text("18\n")


def test_given_addresses_replace_them(tmp_path: Path) -> None:
    environment = {
        "WARMLINE_HOME": str(tmp_path / "home"),
        "DATABASE_URL": "postgresql://db.example/w",
        "REDIS_URL": "redis://r.example",
    }
    with servers(LaunchSettings.from_env(environment), say=quiet) as addresses:
        assert addresses.database_url == "postgresql://db.example/w"
        assert addresses.redis_url == "redis://r.example"
        assert not addresses.owns_database
    assert not (tmp_path / "home" / "servers.json").exists()


def _parent(pid: int) -> int:
    listed = subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(listed.stdout)
