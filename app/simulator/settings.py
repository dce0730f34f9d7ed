"""Settings of the simulator's own process, read from the environment once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.config import DEMO_ACCOUNT_SID, DEMO_AUTH_TOKEN, PROJECT_ROOT

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorSettings:
    """What the simulator needs to know. It always listens on 127.0.0.1."""

    port: int
    database: Path
    webhook_base: str
    """Where inbound messages go, as the business signs for it: `{webhook_base}/webhooks/twilio/inbound`."""
    local_base: str
    """Where a webhook for a host that is not this machine is really sent: the simulator never leaves it."""
    account_sid: str = DEMO_ACCOUNT_SID
    auth_token: str = field(default=DEMO_AUTH_TOKEN, repr=False)
    default_sender: str = "+60320000100"
    """The number behind a messaging service, and whom a phone writes to before anybody wrote to it."""
    zone: str = "Asia/Kuala_Lumpur"
    """The zone that phones show their times in."""
    seed: int = 0
    """Seed of all chance: which message a fault with a probability hits, and how callbacks are shuffled."""
    root: Path = PROJECT_ROOT
    """Holds `templates/` and `static/`."""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> SimulatorSettings:
        """Return the settings of this environment. Raises ValueError when a number is not one."""
        values = os.environ if environ is None else environ
        web_port = int(values.get("WARMLINE_PORT") or 8000)
        here = f"http://127.0.0.1:{web_port}"
        base = values.get("WARMLINE_SIMULATOR_WEBHOOK_BASE") or values.get("WARMLINE_PUBLIC_BASE_URL") or here
        home = Path(values.get("WARMLINE_HOME") or PROJECT_ROOT / ".warmline")
        account_sid, auth_token = _account(values)
        return cls(
            port=int(values.get("WARMLINE_SIMULATOR_PORT") or web_port + 1),
            database=Path(values.get("WARMLINE_SIMULATOR_DB") or home / "simulator.sqlite3"),
            webhook_base=base.rstrip("/"),
            local_base=base if urlsplit(base).hostname in LOOPBACK else here,
            account_sid=account_sid,
            auth_token=auth_token,
            default_sender=values.get("WARMLINE_SIMULATOR_SENDER") or "+60320000100",
            zone=values.get("WARMLINE_TIME_ZONE") or "Asia/Kuala_Lumpur",
            seed=int(values.get("WARMLINE_SIMULATOR_SEED") or 0),
        )


def _account(values: Mapping[str, str]) -> tuple[str, str]:
    """Return the account that requests must name: the demo's, unless Warmline was pointed here with an
    account of its own.
    """
    if (
        values.get("TWILIO_API_BASE_URL")
        and values.get("TWILIO_ACCOUNT_SID")
        and values.get("TWILIO_AUTH_TOKEN")
    ):
        return values["TWILIO_ACCOUNT_SID"], values["TWILIO_AUTH_TOKEN"]
    return DEMO_ACCOUNT_SID, DEMO_AUTH_TOKEN
