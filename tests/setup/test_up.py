"""`warmline up` from the outside: it starts, answers, stops whole, survives a kill, says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.config import PROJECT_ROOT
from app.launch.home import Home
from app.launch.place import remove_place
from app.launch.ports import free_port
from app.launch.processes import command_line
from app.launch.state import SERVER_NAMES, read_state

START_SECONDS = 100.0


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give the environment of one Warmline of this module, apart from any other on this machine."""
    foreign = {"DATABASE_URL", "REDIS_URL", "WARMLINE_DEMO"}
    home = tmp_path_factory.mktemp("up") / "home"
    yield {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "WARMLINE_HOME": str(home),
        "WARMLINE_PORT": str(free_port()),
        "WARMLINE_SIMULATOR_PORT": str(free_port()),
    }
    remove_place(Home(home))


@contextmanager
def start(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Give a running `warmline up`; one that a failing test leaves running is killed."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "app.cli", "up", *arguments],
        cwd=PROJECT_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as up:
        try:
            yield up
        finally:
            up.kill()


def wait_until_told(up: subprocess.Popen[str]) -> str:
    """Return what it said up to the line that ends its start; one that hangs is killed and fails the test."""
    assert up.stdout is not None
    said = ""
    watchdog = threading.Timer(START_SECONDS, up.kill)
    watchdog.start()
    try:
        for line in up.stdout:
            said += line
            if "Ctrl-C stops everything" in line:
                return said
    finally:
        watchdog.cancel()
    pytest.fail(f"it ended with {up.wait()}:\n{said}")


def health(environment: dict[str, str]) -> object:
    address = f"http://127.0.0.1:{environment['WARMLINE_PORT']}/healthz"
    with urllib.request.urlopen(address, timeout=5) as answer:
        return json.load(answer)["status"]


def all_pids(environment: dict[str, str]) -> list[int]:
    home = Home(Path(environment["WARMLINE_HOME"]))
    parts = [int(pid) for pid in json.loads(home.processes_file.read_text())]
    return parts + [pid for name in SERVER_NAMES if (pid := read_state(home).of(name).pid)]


def test_it_starts_answers_and_stops_whole(environment: dict[str, str]) -> None:
    with start(environment) as up:
        said = wait_until_told(up)
        assert f"http://127.0.0.1:{environment['WARMLINE_PORT']}/" in said
        assert f"http://127.0.0.1:{environment['WARMLINE_SIMULATOR_PORT']}/phone" in said
        assert health(environment) == "ok"
        pids = all_pids(environment)
        assert len(pids) >= 3
        assert all(command_line(pid) for pid in pids)
        up.send_signal(signal.SIGINT)
        assert up.wait(START_SECONDS) == 0
    assert [command_line(pid) for pid in pids if command_line(pid)] == []


def test_a_second_one_in_the_same_home_is_told_so_and_one_killed_outright_starts_again(
    environment: dict[str, str],
) -> None:
    with start(environment) as up:
        wait_until_told(up)
        with start(environment) as second:
            assert second.stdout is not None
            assert "already runs" in second.stdout.read()
            second.wait(START_SECONDS)
        assert second.returncode == 2
        pids = all_pids(environment)
        up.kill()
    with start(environment) as up:
        wait_until_told(up)
        assert health(environment) == "ok"
        assert not set(pids) & set(all_pids(environment))
        up.send_signal(signal.SIGTERM)
        assert up.wait(START_SECONDS) == 0


def test_a_taken_port_is_told_before_anything_is_started(environment: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in ("WARMLINE_PORT", "WARMLINE_SIMULATOR_PORT"):
        with (
            socket.create_server(("127.0.0.1", int(environment[name]))),
            start({**environment, "WARMLINE_HOME": str(home)}) as up,
        ):
            assert up.stdout is not None
            assert f"Port {environment[name]} is taken" in up.stdout.read()
            up.wait(START_SECONDS)
        assert up.returncode == 2
    assert not (home / "servers.json").exists()


def test_a_signal_during_the_start_stops_what_was_started(environment: dict[str, str]) -> None:
    with start(environment) as up:
        assert up.stdout is not None
        assert "Starting PostgreSQL and Valkey" in up.stdout.readline()
        time.sleep(0.3)
        up.send_signal(signal.SIGINT)
        assert up.wait(START_SECONDS) == 0
    state = read_state(Home(Path(environment["WARMLINE_HOME"])))
    assert [state.of(name).pid for name in SERVER_NAMES] == [None, None]


def test_U05_without_demo_and_token_it_refuses_in_plain_words(
    environment: dict[str, str],
) -> None:
    with start(environment, "--no-demo") as up:
        assert up.stdout is not None
        said = up.stdout.read()
        up.wait(START_SECONDS)
    assert up.returncode == 1
    assert "TWILIO_AUTH_TOKEN are not set" in said
    assert "Traceback" not in said
