"""Using the embedded servers: attach to running ones, or have a keeper start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.config import PROJECT_ROOT, LaunchSettings
from app.launch.errors import LaunchError, tail
from app.launch.home import Home, prepare_home
from app.launch.locks import HeldLock, holding, is_held, wait_for
from app.launch.postgres import database_url
from app.launch.state import ServerName, read_state, titles
from app.launch.valkey import redis_url

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the servers are."""

    home: Home
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    owns_database: bool
    """The database is the embedded one: ours to fill with demo data."""


@contextmanager
def servers(launch: LaunchSettings, *, say: Say, throwaway: bool = False) -> Iterator[Addresses]:
    """Give working servers for the block: those named in the environment, else the embedded ones.

    Embedded servers that run already are shared. Whoever leaves last has them stopped, however it leaves.
    `throwaway`: without durability, and their files are deleted in the end (for test runs).
    Raises `LaunchError` with a plain text.
    """
    home = prepare_home(launch.home)
    wanted: set[ServerName] = set()
    if launch.database_url is None:
        wanted.add("postgres")
    if launch.redis_url is None:
        wanted.add("valkey")
    if not wanted:
        yield _addresses(home, launch)
        return
    use = _enter(home, wanted, say=say, throwaway=throwaway)
    try:
        yield _addresses(home, launch)
    finally:
        _leave(home, use)


@dataclass(frozen=True, slots=True)
class _Use:
    """Two locks for one fact: the keeper waits on `users`, those who leave count on `present`."""

    users: HeldLock
    present: HeldLock

    def release(self) -> None:
        self.present.release()
        self.users.release()


def _enter(home: Home, wanted: set[ServerName], *, say: Say, throwaway: bool) -> _Use:
    with holding(home.start_lock):
        users = wait_for(home.users_lock, shared=True)  # waits for a keeper that is just stopping
        use = _Use(users=users, present=wait_for(home.present_lock, shared=True))
        try:
            _ensure_running(home, wanted, say=say, throwaway=throwaway)
        except BaseException:
            use.release()
            raise
    return use


def _leave(home: Home, use: _Use) -> None:
    """Stop using the servers; the last one to leave waits until they are down."""
    with holding(home.start_lock):
        use.present.release()
        am_last = not is_held(home.present_lock)
        use.users.release()
        if am_last:
            wait_for(home.keeper_lock).release()


def _addresses(home: Home, launch: LaunchSettings) -> Addresses:
    state = read_state(home)
    return Addresses(
        home=home,
        database_url=launch.database_url or database_url(state.postgres),
        redis_url=launch.redis_url or redis_url(state.valkey),
        owns_database=launch.database_url is None,
    )


def _ensure_running(home: Home, wanted: set[ServerName], *, say: Say, throwaway: bool) -> None:
    if is_held(home.keeper_lock):
        missing = wanted - read_state(home).running()
        if missing:
            raise LaunchError(
                f"This home's servers run without {titles(missing)}: stop what uses them first."
            )
        return
    say(f"Starting {titles(wanted)}")
    _start_keeper(home, wanted, say=say, throwaway=throwaway)


def _start_keeper(home: Home, wanted: set[ServerName], *, say: Say, throwaway: bool) -> None:
    """Start a keeper and return when its servers take connections."""
    log = home.open_log("keeper")
    options = ["--throwaway"] if throwaway else []
    try:
        keeper = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "app.launch.keeper",
                str(home.path),
                ",".join(sorted(wanted)),
                *options,
            ],
            cwd=PROJECT_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    assert keeper.stdout is not None
    try:
        for line in keeper.stdout:
            step = json.loads(line)
            if "failed" in step:
                keeper.wait()
                raise LaunchError(str(step["failed"]))
            if "ready" in step:
                keeper.returncode = 0  # it is on its own now, and outlives us if others use the servers
                return
            say(str(step["note"]))
    except KeyboardInterrupt:
        keeper.send_signal(signal.SIGTERM)
        keeper.wait()
        raise
    finally:
        keeper.stdout.close()
    raise LaunchError(
        f"The servers did not start. The end of {home.log('keeper')}:\n{tail(home.log('keeper'))}"
    )
