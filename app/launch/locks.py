"""File locks between Warmline's processes. The kernel drops them when their process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self


class HeldLock:
    """A lock on a file, kept until `release` or the end of the process. Programs that we start do not."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def wait_for(path: Path, *, shared: bool = False) -> HeldLock:
    """Return the lock on `path`, as soon as nobody holds it against us."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    return HeldLock(descriptor)


def try_for(path: Path) -> HeldLock | None:
    """Return the exclusive lock on `path`, or None if somebody holds it."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return HeldLock(descriptor)


def is_held(path: Path) -> bool:
    """Tell whether some process holds the lock on `path`."""
    lock = try_for(path)
    if lock is None:
        return True
    lock.release()
    return False


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Hold the exclusive lock on `path` for the block, waiting for it first."""
    with wait_for(path):
        yield


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
