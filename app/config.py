"""Settings: the only reader of the environment. Everything else is handed a `Settings`.

`LaunchSettings` is what has to be known before servers run (ports, folders, addresses given by the user);
`Settings` is what the web, worker and simulator processes run with.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

PROJECT_ROOT = Path(__file__).resolve().parent.parent

DEFAULT_TIME_ZONE = "Asia/Kuala_Lumpur"
"""The organisation's zone where WARMLINE_TIME_ZONE names none."""
DEMO_ORGANISATION = "Keluarga Cerdas"
"""Made up: whose workspace the demo is."""
DEMO_ACCOUNT_SID = "AC5e1f0d3c2b4a69788796a5b4c3d2e1f0"
"""Made up and shared with the simulator; opens nothing anywhere."""
DEMO_AUTH_TOKEN = "demo-auth-token-of-the-simulator"  # noqa: S105
"""Made up and shared with the simulator; opens nothing anywhere."""

_DEFAULT_PORT = 8000
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


class ConfigError(Exception):
    """The environment cannot be run with. The text is for the person who starts Warmline."""


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """What `warmline` needs to know before any server runs."""

    home: Path
    host: str
    port: int
    simulator_port: int
    database_url: str | None
    """Given by the user: no embedded PostgreSQL then."""
    redis_url: str | None
    """Given by the user: no embedded Valkey then."""
    demo: bool
    environment: Mapping[str, str] = field(repr=False)
    """What child processes inherit."""

    @classmethod
    def from_env(
        cls,
        environ: Mapping[str, str],
        *,
        port: int | None = None,
        home: Path | None = None,
        demo: bool | None = None,
    ) -> LaunchSettings:
        """Read the environment; arguments win over it. Raises `ConfigError` with a plain text."""
        database_url = environ.get("DATABASE_URL") or None
        chosen_port = port if port is not None else _port(environ, "WARMLINE_PORT", _DEFAULT_PORT)
        given_home = home or Path(environ.get("WARMLINE_HOME") or PROJECT_ROOT / ".warmline")
        wished = _flag(environ, "WARMLINE_DEMO")
        return cls(
            home=Path(os.path.abspath(given_home.expanduser())),  # noqa: PTH100 - keeps symbolic links as given
            host=environ.get("WARMLINE_HOST") or "127.0.0.1",
            port=chosen_port,
            simulator_port=_port(environ, "WARMLINE_SIMULATOR_PORT", chosen_port + 1),
            database_url=plain_database_url(database_url) if database_url else None,
            redis_url=environ.get("REDIS_URL") or None,
            demo=_first_known(demo, wished, database_url is None),
            environment=dict(environ),
        )

    @classmethod
    def load(
        cls, *, port: int | None = None, home: Path | None = None, demo: bool | None = None
    ) -> LaunchSettings:
        """Read this process's environment; see `from_env`."""
        return cls.from_env(os.environ, port=port, home=home, demo=demo)

    def child_environment(self, *, database_url: str, redis_url: str) -> dict[str, str]:
        """Return the environment in which `Settings.load` of a child process gives these settings."""
        return {
            **self.environment,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "WARMLINE_HOME": str(self.home),
            "WARMLINE_HOST": self.host,
            "WARMLINE_PORT": str(self.port),
            "WARMLINE_SIMULATOR_PORT": str(self.simulator_port),
            "WARMLINE_DEMO": "1" if self.demo else "0",
            "PYTHONUNBUFFERED": "1",
        }


@dataclass(frozen=True, slots=True)
class Settings:
    """What a web, worker or simulator process runs with."""

    database_url: str = field(repr=False)
    """`postgresql://…`, as asyncpg takes it; see `sqlalchemy_url`."""
    redis_url: str = field(repr=False)
    home: Path
    host: str
    port: int
    public_base_url: str
    """Scheme, host and port under which providers and families reach Warmline; no slash at the end.
    Signatures of webhooks are checked against it and never against a request's own Host."""
    secret_key: str = field(repr=False)
    demo: bool
    """Demo people, demo log-ins, the phone page and the demo clock exist."""

    twilio_account_sid: str
    twilio_auth_tokens: tuple[str, ...] = field(repr=False)
    """One, or two while a token is being changed: webhooks signed with either are genuine."""
    twilio_api_key: str | None
    twilio_api_secret: str | None = field(repr=False)
    twilio_api_base_url: str | None
    """None is Twilio itself; otherwise an address on this machine (the simulator)."""
    simulator_port: int
    simulator_url: str

    organisation: str = "Warmline"
    """Whose workspace it is; templates may say it."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks whose X-Forwarded-For is believed; nobody by default."""
    default_country: str = "MY"
    default_time_zone: str = DEFAULT_TIME_ZONE
    """The organisation's zone: cool-downs are counted in its days, and people of whom nobody said where they live
    live there. The one source of it; transactions know it as `uow.zone`."""

    database_pool_size: int = 16
    database_pool_timeout_seconds: float = 10.0
    database_connect_timeout_seconds: float = 5.0
    redis_connect_timeout_seconds: float = 2.0
    redis_answer_timeout_seconds: float = 5.0
    health_timeout_seconds: float = 2.0
    provider_connect_timeout_seconds: float = 5.0
    provider_answer_timeout_seconds: float = 15.0
    send_lease_seconds: float = 40.0
    """How long an attempt may be without an outcome before another worker takes it to be lost."""
    look_up_after_seconds: float = 60.0
    look_up_again_seconds: float = 300.0
    """When a send of unknown outcome is looked up at the provider, counted from the start of its attempt."""
    worker_drain_timeout_seconds: float = 20.0
    web_drain_timeout_seconds: int = 5

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Read the environment. Raises `ConfigError` with a plain text; makes `home/secret` if it has to.

        Without a Twilio token only a demo starts: otherwise every webhook would be refused in silence.
        """
        launch = LaunchSettings.from_env(environ)
        demo = _flag(environ, "WARMLINE_DEMO") or False
        if launch.database_url is None or launch.redis_url is None:
            missing = "DATABASE_URL" if launch.database_url is None else "REDIS_URL"
            raise ConfigError(f"{missing} is not set. `warmline up` starts Warmline with servers of its own.")
        base_url = environ.get("WARMLINE_PUBLIC_BASE_URL") or f"http://127.0.0.1:{launch.port}"
        simulator_url = f"http://127.0.0.1:{launch.simulator_port}"
        account_sid, tokens = _twilio_account(environ, demo=demo)
        answer_seconds, lease_seconds = _answer_and_lease(environ)
        return cls(
            database_url=launch.database_url,
            redis_url=launch.redis_url,
            home=launch.home,
            host=launch.host,
            port=launch.port,
            public_base_url=_base_url(base_url),
            secret_key=environ.get("WARMLINE_SECRET_KEY") or secret_of(launch.home),
            demo=demo,
            twilio_account_sid=account_sid,
            twilio_auth_tokens=tokens,
            twilio_api_key=environ.get("TWILIO_API_KEY") or None,
            twilio_api_secret=environ.get("TWILIO_API_SECRET") or None,
            twilio_api_base_url=_provider_address(environ, default=simulator_url if demo else None),
            simulator_port=launch.simulator_port,
            simulator_url=simulator_url,
            organisation=environ.get("WARMLINE_ORGANISATION") or (DEMO_ORGANISATION if demo else "Warmline"),
            trusted_proxies=_networks(environ.get("WARMLINE_TRUSTED_PROXIES", "")),
            default_country=environ.get("WARMLINE_COUNTRY") or "MY",
            default_time_zone=_time_zone(environ.get("WARMLINE_TIME_ZONE", "")),
            provider_answer_timeout_seconds=answer_seconds,
            send_lease_seconds=lease_seconds,
            look_up_after_seconds=_seconds(environ, "WARMLINE_LOOK_UP_AFTER_SECONDS", 60.0),
            look_up_again_seconds=_seconds(environ, "WARMLINE_LOOK_UP_AGAIN_SECONDS", 300.0),
        )

    @classmethod
    def load(cls) -> Settings:
        """Read this process's environment; see `from_env`."""
        return cls.from_env(os.environ)

    @property
    def sqlalchemy_url(self) -> str:
        """Return the database's address as SQLAlchemy's asyncpg dialect takes it."""
        return sqlalchemy_url(self.database_url)


def plain_database_url(url: str) -> str:
    """Return a PostgreSQL address in the form that asyncpg takes. Raises `ConfigError` for any other kind."""
    scheme, mark, rest = url.partition("://")
    if not mark or scheme.partition("+")[0] not in {"postgres", "postgresql"}:
        raise ConfigError(
            "DATABASE_URL must be the address of a PostgreSQL: postgresql://user:password@host/name"
        )
    return f"postgresql://{rest}"


def sqlalchemy_url(database_url: str) -> str:
    """Return a plain PostgreSQL address as SQLAlchemy takes it for asyncpg (`sslmode` is `ssl` there)."""
    parts = urlsplit(database_url)
    query = [("ssl" if name == "sslmode" else name, value) for name, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(scheme="postgresql+asyncpg", query=urlencode(query)))


def secret_of(home: Path) -> str:
    """Return the secret that signs sessions and links, made once and kept in `home/secret` (mode 0600)."""
    path = home / "secret"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"secret.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(48) + "\n")
    try:
        path.hardlink_to(draft)  # of two processes that start together, one wins whole
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii").strip()


def _twilio_account(environ: Mapping[str, str], *, demo: bool) -> tuple[str, tuple[str, ...]]:
    tokens = tuple(
        token
        for name in ("TWILIO_AUTH_TOKEN", "TWILIO_AUTH_TOKEN_SECONDARY")
        if (token := environ.get(name, "").strip())
    )
    account_sid = environ.get("TWILIO_ACCOUNT_SID", "").strip()
    if demo and not environ.get("TWILIO_API_BASE_URL"):
        return DEMO_ACCOUNT_SID, (DEMO_AUTH_TOKEN,)
    if not environ.get("TWILIO_AUTH_TOKEN", "").strip() or not account_sid:
        raise ConfigError(
            "TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN are not set: without them no message of a lead could "
            "be told from a forged one. Set both, or start the demo with WARMLINE_DEMO=1."
        )
    return account_sid, tokens


def _provider_address(environ: Mapping[str, str], *, default: str | None) -> str | None:
    given = environ.get("TWILIO_API_BASE_URL")
    if not given:
        return default
    address = _base_url(given)
    if not _is_loopback(urlsplit(address).hostname or ""):
        raise ConfigError(
            "TWILIO_API_BASE_URL may only name this machine (127.0.0.1): it gets the account's token."
        )
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _base_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{url!r} is not an address: it has to look like https://warmline.example.org")
    return url.rstrip("/")


def _networks(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        try:
            ipaddress.ip_network(name, strict=False)
        except ValueError:
            raise ConfigError(
                f"WARMLINE_TRUSTED_PROXIES: {name!r} is neither an address nor a network."
            ) from None
    return names


def _time_zone(text: str) -> str:
    name = text.strip() or DEFAULT_TIME_ZONE
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f"WARMLINE_TIME_ZONE: there is no time zone {name!r}.") from None
    return name


def _port(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise ConfigError(f"{name} must be a port number between 1 and 65535, not {text!r}.")
    return int(text)


def _answer_and_lease(environ: Mapping[str, str]) -> tuple[float, float]:
    """Return how long the provider may take, and the lease of a call, which has to outlast it."""
    answer = _seconds(environ, "WARMLINE_PROVIDER_ANSWER_SECONDS", 15.0)
    lease = _seconds(environ, "WARMLINE_SEND_LEASE_SECONDS", 40.0)
    if lease <= answer:
        raise ConfigError(
            "WARMLINE_SEND_LEASE_SECONDS must be longer than WARMLINE_PROVIDER_ANSWER_SECONDS: a call that "
            "is still going on would be taken to be lost."
        )
    return answer, lease


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise ConfigError(f"{name} must be a number of seconds above 0, not {text!r}.")
    return seconds


def _flag(environ: Mapping[str, str], name: str) -> bool | None:
    text = environ.get(name, "").strip().lower()
    if not text:
        return None
    if text not in _TRUE | _FALSE:
        raise ConfigError(f"{name} must be 1 or 0, not {text!r}.")
    return text in _TRUE


def _first_known(*answers: bool | None) -> bool:
    return next((answer for answer in answers if answer is not None), False)
