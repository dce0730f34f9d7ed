"""Starting a program that ends with us, and ending it in good order."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.launch.account import Account, run_as

_ON_LINUX = platform.system() == "Linux"
_PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    log: int,
    orphan_signal: signal.Signals,
    account: Account | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, its output going to the descriptor `log`.

    On Linux it gets `orphan_signal` from the kernel if the calling thread ends first, even by SIGKILL; call
    this from a thread that lives as long as the program should.
    """
    return subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=_tether(orphan_signal),
        **run_as(account),
    )


def run_beside(command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> int:
    """Run a program with our own terminal and hand signals on to it. Returns its exit code when it ended."""
    process = subprocess.Popen(
        command,
        env=dict(environment),
        cwd=folder,
        start_new_session=True,  # a Ctrl-C reaches it once, through us
        preexec_fn=_tether(signal.SIGTERM),
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: process.send_signal(number))
    return process.wait()


def stop(process: subprocess.Popen[bytes], *, by: signal.Signals, timeout_seconds: float) -> bool:
    """Ask a process to end, and kill its whole group if it did not in time. Tells whether it did."""
    if process.poll() is None:
        process.send_signal(by)
    try:
        process.wait(timeout_seconds)
        return True
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        process.wait()
        return False


def kill_group(pid: int) -> None:
    """End a process that `start` made, with all that it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stop_foreign(pid: int, *, by: signal.Signals, timeout_seconds: float) -> None:
    """End a process that is not our child and wait until it is gone; the caller has made sure whose it is."""
    try:
        os.kill(pid, by)
        if not _gone(pid, timeout_seconds=timeout_seconds):
            os.kill(pid, signal.SIGKILL)
            _gone(pid, timeout_seconds=5.0)
    except ProcessLookupError:
        pass


def command_line(pid: int) -> str:
    """Return the command line of a running process, empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        if _ON_LINUX:
            return ""
    listed = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip()


def _gone(pid: int, *, timeout_seconds: float) -> bool:
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        if not command_line(pid):
            return True
        time.sleep(0.05)
    return False


def _tether(orphan_signal: signal.Signals) -> Callable[[], None] | None:
    if not _ON_LINUX:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def tether() -> None:  # runs between fork and exec: one system call, prepared above
        libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal), 0, 0, 0)
        if os.getppid() != parent:  # it ended between the fork and the call above
            os._exit(1)

    return tether
