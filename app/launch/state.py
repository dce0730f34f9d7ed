"""`servers.json`: how to reach the embedded servers. Ports and passwords stay the same between starts."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from app.launch.home import Home

ServerName = Literal["postgres", "valkey"]
SERVER_NAMES: tuple[ServerName, ...] = ("postgres", "valkey")
TITLES: dict[ServerName, str] = {"postgres": "PostgreSQL", "valkey": "Valkey"}


@dataclass(frozen=True, slots=True)
class ServerState:
    """One embedded server. `pid` is None while it does not run; `port` 0 means none was taken yet."""

    password: str = field(repr=False)
    port: int = 0
    pid: int | None = None
    restarts: int = 0
    """How often it ended by itself and was started again, since the keeper started."""


@dataclass(frozen=True, slots=True)
class ServersState:
    """Both servers."""

    postgres: ServerState
    valkey: ServerState

    def of(self, name: ServerName) -> ServerState:
        """Return the state of one server."""
        return self.postgres if name == "postgres" else self.valkey

    def having(self, name: ServerName, state: ServerState) -> ServersState:
        """Return these states with one replaced."""
        return replace(self, **{name: state})

    def running(self) -> frozenset[ServerName]:
        """Return the servers that were running when the file was written."""
        return frozenset(name for name in SERVER_NAMES if self.of(name).pid is not None)


def read_state(home: Home) -> ServersState:
    """Return what the file says; passwords are made up where there are none yet."""
    try:
        stored = json.loads(home.servers_file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        stored = {}
    return ServersState(**{name: _server(stored.get(name)) for name in SERVER_NAMES})


def write_state(home: Home, state: ServersState) -> None:
    """Write the file, whole or not at all, readable by its owner only."""
    draft = home.servers_file.with_suffix(".new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(state), file, indent=1)
    draft.replace(home.servers_file)


def titles(names: Iterable[ServerName]) -> str:
    """Return the servers' names for people."""
    wanted = set(names)
    return " and ".join(TITLES[name] for name in SERVER_NAMES if name in wanted)


def _server(stored: dict[str, object] | None) -> ServerState:
    if not stored:
        return ServerState(password=secrets.token_urlsafe(24))
    port, pid, restarts = stored.get("port"), stored.get("pid"), stored.get("restarts")
    return ServerState(
        password=str(stored["password"]),
        port=port if isinstance(port, int) else 0,
        pid=pid if isinstance(pid, int) else None,
        restarts=restarts if isinstance(restarts, int) else 0,
    )
