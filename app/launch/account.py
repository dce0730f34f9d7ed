"""Who the embedded servers run as. PostgreSQL refuses root, so a root user hands them to `nobody`."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.launch.errors import LaunchError


@dataclass(frozen=True, slots=True)
class Account:
    """An unprivileged user of the operating system."""

    name: str
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Hand a file or folder that we made to this account."""
        os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def can_enter(self, folder: Path) -> bool:
        """Tell whether this account may pass through a folder; asked of the kernel, as that account."""
        walk = subprocess.run(
            ["/bin/sh", "-c", 'cd "$0" 2>/dev/null', str(folder)], cwd="/", check=False, **run_as(self)
        )
        return walk.returncode == 0


def server_account() -> Account | None:
    """Return the account for the servers, or None where they can run as the present user."""
    if os.geteuid() != 0:
        return None
    for name in ("nobody", "daemon"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise LaunchError("PostgreSQL does not run as root, and this machine has no user `nobody` to run it as.")


def run_as(account: Account | None) -> dict[str, Any]:
    """Return what `subprocess` needs to run a program as the account."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
