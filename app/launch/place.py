"""Where the embedded servers keep their files: in the home, or where their account can reach them.

A root user's checkout often lies in a folder that nobody else may enter (`/root`, `mktemp -d`). The servers
then get a folder of their own under /var/tmp, and the home a file that points to it. No mode of any other
folder is changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.launch.account import Account, server_account
from app.launch.errors import LaunchError
from app.launch.home import Home


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of mode 0700 that belongs to the account the servers run as."""

    path: Path
    account: Account | None

    def make_folder(self, name: str) -> Path:
        """Return a folder in the place, made if missing, which only the account may enter."""
        folder = self.path / name
        folder.mkdir(exist_ok=True, mode=0o700)
        if self.account:
            self.account.own(folder)
        return folder

    def write_secret(self, name: str, text: str) -> Path:
        """Write a file that only the account may read, whole or not at all."""
        draft = self.path / f"{name}.new"
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        if self.account:
            self.account.own(draft)
        return draft.replace(self.path / name)


def server_place(home: Home) -> Place:
    """Return the place of a home's servers, the same one at every call, made at the first."""
    account = server_account()
    if account is None:
        return _in_home(home, None)
    pointed = _pointed_to(home)
    if pointed:
        return _checked(pointed, account)
    if account.can_enter(home.path):
        return _in_home(home, account)
    return _outside(home, account)


def remove_place(home: Home) -> None:
    """Delete the servers' files, data included. Only for servers that are stopped and were throw-aways."""
    shutil.rmtree(_pointed_to(home) or home.path / "servers", ignore_errors=True)
    home.place_file.unlink(missing_ok=True)


def _in_home(home: Home, account: Account | None) -> Place:
    place = Place(path=home.path / "servers", account=account)
    place.path.mkdir(exist_ok=True, mode=0o700)
    if account:
        account.own(place.path)
    return place


def _outside(home: Home, account: Account) -> Place:
    for orphan in _orphans(home):
        shutil.rmtree(orphan, ignore_errors=True)
    path = _shared_folder() / f"{_prefix(home)}{secrets.token_hex(4)}"
    path.mkdir(mode=0o700)
    (path / "home").write_text(str(home.path), encoding="utf-8")
    account.own(path)
    home.place_file.write_text(json.dumps({"home": str(home.path), "place": str(path)}), encoding="utf-8")
    return _checked(path, account)


def _pointed_to(home: Home) -> Path | None:
    """Return what the pointer names; a pointer that was copied along with another home counts for nothing."""
    try:
        pointer = json.loads(home.place_file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    path = Path(pointer["place"])
    return path if pointer["home"] == str(home.path) and path.is_dir() else None


def _checked(path: Path, account: Account) -> Place:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise LaunchError(
            f"{path} is not the folder that Warmline made: it must belong to {account.name} alone."
        )
    return Place(path=path, account=account)


def _orphans(home: Home) -> Iterator[Path]:
    """Places of an earlier home at this very path, which is gone: nothing points to them any more."""
    for path in _shared_folder().glob(f"{_prefix(home)}*"):
        data_in_use = (path / "postgres" / "postmaster.pid").exists()
        if path.is_dir() and not path.is_symlink() and not data_in_use:
            yield path


def _prefix(home: Home) -> str:
    return f"warmline-{hashlib.sha256(str(home.path).encode()).hexdigest()[:12]}-"


def _shared_folder() -> Path:
    """The folder for files that outlive a restart and that every user may enter."""
    var_tmp = Path("/var/tmp")  # noqa: S108 - a folder of our own, mode 0700, is made in it
    return var_tmp if os.access(var_tmp, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
