"""The folder `.warmline/`: which file in it is for what."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.launch.errors import LaunchError

_LOG_LIMIT_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Home:
    """The folder with the data, log files and secrets of one Warmline."""

    path: Path

    @property
    def servers_file(self) -> Path:
        """Ports, passwords and process ids of the embedded servers (mode 0600)."""
        return self.path / "servers.json"

    @property
    def place_file(self) -> Path:
        """Where the servers' files lie, when they cannot lie here."""
        return self.path / "place.json"

    @property
    def processes_file(self) -> Path:
        """The processes that `warmline up` started last."""
        return self.path / "processes.json"

    @property
    def up_lock(self) -> Path:
        """Held by `warmline up` for as long as it runs."""
        return self.path / "up.lock"

    @property
    def start_lock(self) -> Path:
        """Held while somebody looks for running servers or starts them."""
        return self.path / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Shared by everybody who uses the embedded servers; the keeper stops them when nobody holds it."""
        return self.path / "users.lock"

    @property
    def present_lock(self) -> Path:
        """Shared by the same; whoever leaves sees from it whether anybody is left."""
        return self.path / "present.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the keeper for as long as it runs."""
        return self.path / "keeper.lock"

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.path / "logs" / f"{name}.log"

    def open_log(self, name: str) -> int:
        """Return a descriptor that appends to a log; a log of more than 5 MB is set aside as `.1` first."""
        path = self.log(name)
        if path.exists() and path.stat().st_size > _LOG_LIMIT_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def prepare_home(path: Path) -> Home:
    """Return the home at `path`, made if missing. A folder that exists keeps its mode and owner."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The servers of a root user run as somebody else, who has to pass through here and may read nothing.
        path.mkdir(exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        (path / "logs").mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise LaunchError(f"The folder {path} cannot be used: {error.strerror}.") from error
    return Home(path)
