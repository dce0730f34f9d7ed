"""`warmline up`: from nothing to a running Warmline, and back."""

from __future__ import annotations

import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.assets import AssetError, build_assets
from app.config import PROJECT_ROOT, LaunchSettings, Settings
from app.launch.attach import Addresses, Say, servers
from app.launch.database import content_of, empty, migrate
from app.launch.errors import LaunchError
from app.launch.home import Home, prepare_home
from app.launch.locks import HeldLock, try_for
from app.launch.ports import is_free
from app.launch.state import SERVER_NAMES, TITLES, read_state
from app.launch.stopping import STOP_SIGNALS, StopRequest
from app.launch.supervisor import Part, Supervisor, stop_leftovers

_HEALTH_TIMEOUT_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.5
_WORKER_DRAIN_SECONDS = 25.0
PORT_TAKEN_EXIT_CODE = 2


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What the person asked for."""

    workers: int = 1
    reload: bool = False


def up(launch: LaunchSettings, *, options: UpOptions, say: Say) -> None:
    """Run Warmline until told to stop. Raises `LaunchError` or `ConfigError` with a plain text."""
    home = prepare_home(launch.home)
    stop_request = StopRequest()
    stop_request.listen(break_off=True)
    try:
        with _alone(home):
            stop_leftovers(home)
            _check_ports(launch)
            _run(launch, home, options, stop_request, say)
    except KeyboardInterrupt:
        pass  # told to stop while preparing; everything was stopped on the way here


def _run(launch: LaunchSettings, home: Home, options: UpOptions, stop_request: StopRequest, say: Say) -> None:
    with servers(launch, say=say) as addresses:
        environment = launch.child_environment(
            database_url=addresses.database_url, redis_url=addresses.redis_url
        )
        settings = Settings.from_env(environment)
        _prepare(settings, addresses, say=say)
        stop_request.listen(break_off=False)
        supervisor = Supervisor(home, environment={**environment, **_simulator(settings)}, say=say)
        try:
            supervisor.start(_parts(settings, options))
            _wait_until_healthy(settings, supervisor, stop_request)
            if not stop_request.asked:
                _say_where(settings, say)
            _watch(home, supervisor, stop_request, say)
        finally:
            _stop(supervisor, say)
            say("Stopping the servers")


def _prepare(settings: Settings, addresses: Addresses, *, say: Say) -> None:
    may_seed = addresses.owns_database or content_of(settings.database_url) == "empty"
    say("Bringing the database up to date")
    migrate(settings.database_url)
    say("Building the front end, where something changed")
    try:
        build_assets(project_root=PROJECT_ROOT)
    except AssetError as error:
        raise LaunchError(str(error)) from error
    if not settings.demo:
        return
    if not may_seed:
        say("The database is not empty and not ours: no demo data are put into it")
        return
    say("Looking after the demo's people and leads")
    from app.demo.seed import seed_demo, seed_state  # half of the application, which only a demo needs here

    state = seed_state(settings=settings)
    if state == "broken_off" and addresses.owns_database:
        say("The last start was broken off while it made the demo: beginning anew")
        empty(settings.database_url)
        migrate(settings.database_url)
        state = "none"
    if state == "none":
        seed_demo(settings=settings)


def _parts(settings: Settings, options: UpOptions) -> list[Part]:
    """Return the processes in the order of their start; they are stopped in the opposite one."""
    simulator = [Part(name="simulator", command=_python("app.simulator"))] if settings.demo else []
    reload_web = ("--reload", "--reload-dir", "app", "--reload-dir", "templates") if options.reload else ()
    web = Part(
        name="web",
        command=(
            *_python("uvicorn", "app.main:create_app", "--factory"),
            *("--host", settings.host, "--port", str(settings.port)),
            *("--no-access-log", "--no-server-header", "--no-proxy-headers"),
            *("--timeout-graceful-shutdown", str(settings.web_drain_timeout_seconds)),
            *reload_web,
        ),
        stop_timeout_seconds=settings.web_drain_timeout_seconds + 5.0,
    )
    worker = _python("workers", "--roles", "plan,send,sweep")
    if options.reload:
        worker = _python("watchfiles", "--filter", "python", " ".join(worker), "app", "workers")
    workers = [
        Part(name=f"worker-{number}", command=worker, stop_timeout_seconds=_WORKER_DRAIN_SECONDS)
        for number in range(1, options.workers + 1)
    ]
    styles = [Part(name="assets", command=_python("app.cli", "assets", "--watch"))] if options.reload else []
    return [*simulator, web, *workers, *styles]


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)


def _simulator(settings: Settings) -> dict[str, str]:
    """Return what the simulator is told by its environment."""
    if not settings.demo:
        return {}
    return {
        "WARMLINE_SIMULATOR_DB": str(settings.home / "simulator.sqlite3"),
        "WARMLINE_SIMULATOR_WEBHOOK_BASE": settings.public_base_url,
        "WARMLINE_TWILIO_ACCOUNT_SID": settings.twilio_account_sid,
        "WARMLINE_TWILIO_AUTH_TOKEN": settings.twilio_auth_tokens[0],
    }


def _wait_until_healthy(settings: Settings, supervisor: Supervisor, stop_request: StopRequest) -> None:
    deadline = time.monotonic() + _HEALTH_TIMEOUT_SECONDS
    answer = "no answer"
    while not stop_request.wait(0.2):
        last_words = supervisor.ended()
        if last_words:
            raise LaunchError(last_words)
        answer = _ask_health(f"http://127.0.0.1:{settings.port}/healthz")
        if answer == "ok":
            return
        if time.monotonic() > deadline:
            raise LaunchError(f"The web process did not become healthy within a minute: {answer}")


def _ask_health(address: str) -> str:
    try:
        with urllib.request.urlopen(address, timeout=5.0):  # noqa: S310 - our own http address
            return "ok"
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode(errors="replace")
    except OSError as error:
        return str(error)


def _say_where(settings: Settings, say: Say) -> None:
    base = settings.public_base_url
    say("")
    say(f"  Warmline            {base}/")
    if settings.demo:
        say(f"  The lead's phone    {settings.simulator_url}/phone")
        say(f"  The simulator       {settings.simulator_url}/")
    say("")
    say("Ctrl-C stops everything; the data stay.")


def _watch(home: Home, supervisor: Supervisor, stop_request: StopRequest, say: Say) -> None:
    restarts = _server_restarts(home)
    while not stop_request.wait(_LOOK_EVERY_SECONDS):
        supervisor.look()
        now = _server_restarts(home)
        for title in [title for title, count in now.items() if count > restarts.get(title, 0)]:
            say(f"{title} ended by itself and was started again; see {home.log('keeper')}")
        restarts = now


def _server_restarts(home: Home) -> dict[str, int]:
    state = read_state(home)
    return {TITLES[name]: state.of(name).restarts for name in SERVER_NAMES}


def _stop(supervisor: Supervisor, say: Say) -> None:
    """Stop in order; a second signal meanwhile kills what is left."""
    say("Stopping; what is under way is finished first")
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: supervisor.kill())
    supervisor.stop()


@contextmanager
def _alone(home: Home) -> Iterator[HeldLock]:
    lock = try_for(home.up_lock)
    if lock is None:
        raise LaunchError(
            f"Warmline already runs in {home.path}. Stop it first, or choose another home (WARMLINE_HOME) "
            "and port (WARMLINE_PORT).",
            exit_code=PORT_TAKEN_EXIT_CODE,
        )
    with lock:
        yield lock


def _check_ports(launch: LaunchSettings) -> None:
    wanted = {"WARMLINE_PORT": launch.port}
    if launch.demo:
        wanted["WARMLINE_SIMULATOR_PORT"] = launch.simulator_port
    for name, port in wanted.items():
        if not is_free(port, host=launch.host):
            raise LaunchError(
                f"Port {port} is taken by another program. Choose another: {name}={port + 10} warmline up",
                exit_code=PORT_TAKEN_EXIT_CODE,
            )
