"""The processes of `warmline up`: an end is told, a restart is bounded, a stop is orderly and complete."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.config import PROJECT_ROOT
from app.launch.errors import LaunchError
from app.launch.home import Home, prepare_home
from app.launch.processes import command_line
from app.launch.supervisor import Part, Supervisor, stop_leftovers

SLEEP = "import time; time.sleep(60)"
STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return prepare_home(tmp_path / "home")


def part(code: str, *, name: str = "part", stop_timeout_seconds: float = 5.0) -> Part:
    return Part(name=name, command=(sys.executable, "-c", code), stop_timeout_seconds=stop_timeout_seconds)


def supervise(home: Home, said: list[str]) -> Supervisor:
    return Supervisor(home, environment=dict(os.environ), say=said.append)


def look_until(supervisor: Supervisor, is_so: Callable[[], bool], *, within_seconds: float = 10.0) -> None:
    deadline = time.monotonic() + within_seconds
    while not is_so():
        assert time.monotonic() < deadline
        supervisor.look()
        time.sleep(0.02)


def noted_pids(home: Home) -> list[int]:
    return [int(pid) for pid in json.loads(home.processes_file.read_text())]


def test_an_end_is_told_by_name_with_the_last_lines_and_followed_by_a_restart(home: Home) -> None:
    said: list[str] = []
    supervisor = supervise(home, said)
    code = (
        f"import pathlib, sys, time; ran = pathlib.Path({str(home.path / 'ran')!r})\n"
        "if ran.exists(): time.sleep(60)\n"
        "ran.touch(); sys.exit('no bread left')\n"
    )
    supervisor.start([part(code, name="baker")])
    look_until(supervisor, lambda: bool(said))
    assert "baker ended (exit code 1)" in said[0]
    assert "no bread left" in said[0]
    first = noted_pids(home)
    look_until(supervisor, lambda: noted_pids(home) != first)
    assert supervisor.ended() is None
    supervisor.stop()


def test_a_part_that_keeps_ending_is_given_up_in_the_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.launch.supervisor._LONGEST_PAUSE_SECONDS", 0.01)
    said: list[str] = []
    supervisor = supervise(home, said)
    supervisor.start([part("import sys; sys.exit(3)")])
    with pytest.raises(LaunchError, match="It ended too often"):
        look_until(supervisor, lambda: False, within_seconds=20)
    assert len(said) == 5
    supervisor.stop()


def test_parts_stop_in_the_opposite_order_of_their_start(home: Home) -> None:
    note = home.path / "order"
    code = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(note)!r}, 'a').write(NAME); sys.exit()\n"
        "signal.signal(15, end); print('set', flush=True); time.sleep(60)\n"
    )
    supervisor = supervise(home, [])
    supervisor.start([part(f"NAME = {name!r}\n{code}", name=name) for name in "abc"])
    look_until(supervisor, lambda: all("set" in home.log(name).read_text() for name in "abc"))
    supervisor.stop()
    assert note.read_text() == "cba"


def test_a_part_that_does_not_listen_is_killed_in_the_end_and_that_is_told(home: Home) -> None:
    said: list[str] = []
    supervisor = supervise(home, said)
    supervisor.start([part(STUBBORN, stop_timeout_seconds=0.2)])
    look_until(supervisor, lambda: "deaf" in home.log("part").read_text())
    pids = noted_pids(home)
    supervisor.stop()
    assert said == ["part did not end in time and was killed"]
    assert not any(command_line(pid) for pid in pids)


def test_leftovers_of_a_killed_supervisor_are_ended_and_strangers_are_not(home: Home) -> None:
    supervisor = supervise(home, [])
    supervisor.start([part(SLEEP)])
    (ours,) = noted_pids(home)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(61)"]) as stranger:
        noted = home.processes_file.read_text()
        home.processes_file.write_text(noted.replace("}", f', "{stranger.pid}": ["python", "-c", "other"]}}'))
        stop_leftovers(home)
        assert not command_line(ours)
        assert stranger.poll() is None
        stranger.kill()
    supervisor.stop()


def test_a_supervisor_killed_outright_takes_its_parts_along(home: Home) -> None:
    code = (
        "import os, sys, time; from pathlib import Path\n"
        "from app.launch.home import Home; from app.launch.supervisor import Part, Supervisor\n"
        "s = Supervisor(Home(Path(sys.argv[1])), environment=dict(os.environ), say=print)\n"
        f"s.start([Part(name='p', command=(sys.executable, '-c', {SLEEP!r}))])\n"
        "print('up', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(home.path)]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        (child,) = noted_pids(home)
        assert command_line(child)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while command_line(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)
