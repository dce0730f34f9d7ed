"""The keeper: a small process that runs the embedded servers for as long as anybody uses them.

Whoever uses the servers holds a shared lock (`users.lock`), which the kernel drops when its process ends, by
whatever way. The keeper waits for the exclusive lock: once it has that, nobody is left, and it stops them.
A server that ends by itself is started again on the same port, at most five times a minute.

    python -m app.launch.keeper HOME postgres,valkey [--throwaway]

It prints one JSON line per step of the start: {"note": …}, then {"ready": true} or {"failed": …}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.launch.errors import LaunchError, tail
from app.launch.home import Home
from app.launch.locks import try_for, wait_for
from app.launch.place import Place, remove_place, server_place
from app.launch.ports import free_port
from app.launch.postgres import EmbeddedPostgres
from app.launch.processes import start, stop
from app.launch.server import EmbeddedServer, Program
from app.launch.state import SERVER_NAMES, TITLES, ServerName, ServersState, read_state, write_state
from app.launch.stopping import StopRequest
from app.launch.valkey import EmbeddedValkey

_START_TIMEOUT_SECONDS = 60.0
_START_ATTEMPTS = 5
_RESTARTS_PER_MINUTE = 5
_LOOK_EVERY_SECONDS = 0.5


@dataclass(slots=True)
class _Running:
    server: EmbeddedServer
    process: subprocess.Popen[bytes]
    program: Program
    restarted_at: deque[float] = field(default_factory=lambda: deque(maxlen=_RESTARTS_PER_MINUTE))


class Keeper:
    """Starts the servers, keeps them running, stops them."""

    def __init__(self, home: Home, *, place: Place, servers: list[EmbeddedServer]) -> None:
        self._home = home
        self._place = place
        self._servers = servers
        self._state: ServersState = read_state(home)
        self._running: list[_Running] = []

    def start(self) -> None:
        """Start every server and write where they are. Raises `LaunchError`, with nothing left running."""
        # Written first: a password that was made up a moment ago must not be lost once data exist under it.
        for name in SERVER_NAMES:
            self._note(name, restarts=0)
        write_state(self._home, self._state)
        try:
            for server in self._servers:
                server.prepare(self._place, self._state.of(server.name))
                self._running.append(self._start(server))
        except BaseException:
            self.stop()
            raise
        write_state(self._home, self._state)

    def keep(self, stop_request: StopRequest) -> None:
        """Return once asked to stop; until then start again what ends by itself. Raises `LaunchError`."""
        while not stop_request.wait(_LOOK_EVERY_SECONDS):
            for running in self._running:
                if running.process.poll() is not None:
                    self._restart(running)

    def stop(self) -> None:
        """Stop every server, the last one first, and write that they do not run."""
        for running in reversed(self._running):
            program = running.program
            stop(running.process, by=program.stop_signal, timeout_seconds=program.stop_timeout_seconds)
            self._note(running.server.name, pid=None)
        self._running.clear()
        write_state(self._home, self._state)

    def _start(self, server: EmbeddedServer) -> _Running:
        name = server.name
        for _ in range(_START_ATTEMPTS):
            self._note(name, port=free_port(preferred=self._state.of(name).port))
            program = server.program(self._place, self._state.of(name))
            process = self._spawn(name, program)
            if self._wait_until_ready(server, process):
                self._note(name, pid=process.pid)
                return _Running(server=server, process=process, program=program)
            stop(process, by=program.stop_signal, timeout_seconds=program.stop_timeout_seconds)
            time.sleep(0.5)  # what the last one left behind (memory, port) goes within moments
        log = self._home.log(name)
        raise LaunchError(f"{TITLES[name]} did not start. The end of {log}:\n{tail(log)}")

    def _spawn(self, name: ServerName, program: Program) -> subprocess.Popen[bytes]:
        log = self._home.open_log(name)
        try:
            return start(
                program.command,
                environment={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                folder=program.folder,
                log=log,
                orphan_signal=program.stop_signal,
                account=self._place.account,
            )
        except OSError as error:
            raise LaunchError(f"{program.command[0]} cannot be run: {error.strerror}.") from error
        finally:
            os.close(log)

    def _wait_until_ready(self, server: EmbeddedServer, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + _START_TIMEOUT_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            if server.is_ready(self._place, self._state.of(server.name), process):
                return True
            time.sleep(0.03)
        return False

    def _restart(self, running: _Running) -> None:
        name, now = running.server.name, time.monotonic()
        recent = running.restarted_at
        if len(recent) == _RESTARTS_PER_MINUTE and now - recent[0] < 60:
            raise LaunchError(f"{TITLES[name]} ended {len(recent)} times within a minute.")
        recent.append(now)
        port = self._state.of(name).port
        print(f"{TITLES[name]} ended with {running.process.returncode}; starting it again.", file=sys.stderr)
        running.server.prepare(self._place, self._state.of(name))
        again = self._start(running.server)
        running.process, running.program = again.process, again.program
        self._note(name, restarts=self._state.of(name).restarts + 1)
        write_state(self._home, self._state)
        if self._state.of(name).port != port:
            raise LaunchError(f"{TITLES[name]} lost its port {port} to another program.")

    def _note(self, name: ServerName, **changes: int | None) -> None:
        self._state = self._state.having(name, replace(self._state.of(name), **changes))  # type: ignore[arg-type]


def main(arguments: list[str]) -> int:
    """Run the keeper until nobody uses the servers any more, or until told to end."""
    home = Home(Path(arguments[0]))
    throwaway = "--throwaway" in arguments
    lock = try_for(home.keeper_lock)
    if lock is None:
        return _report(failed="The servers of this home are already being started.")
    stop_request = StopRequest()
    stop_request.listen(break_off=False)
    try:
        keeper = Keeper(
            home,
            place=server_place(home),
            servers=_servers(arguments[1].split(","), throwaway=throwaway),
        )
        keeper.start()
    except LaunchError as error:
        return _report(failed=str(error))
    _report(ready=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    threading.Thread(target=_wait_for_last_user, args=(home, stop_request), daemon=True).start()
    try:
        keeper.keep(stop_request)
    except LaunchError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        keeper.stop()
        if throwaway:
            remove_place(home)
    return 0


def _servers(names: list[str], *, throwaway: bool) -> list[EmbeddedServer]:
    known: dict[ServerName, EmbeddedPostgres | EmbeddedValkey] = {
        "postgres": EmbeddedPostgres(throwaway=throwaway, say=_tell),
        "valkey": EmbeddedValkey(),
    }
    return [known[name] for name in SERVER_NAMES if name in names]


def _wait_for_last_user(home: Home, stop_request: StopRequest) -> None:
    wait_for(home.users_lock)  # held until this process ends: a newcomer waits until the servers are down
    stop_request.ask()


def _tell(text: str) -> None:
    _report(note=text)


def _report(**step: object) -> int:
    print(json.dumps(step), flush=True)
    return 1 if "failed" in step else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
