"""How quickly webhooks are answered while the planner is busy, and whether anything is sent after a reply's 200.

    python -m benchmarks.webhooks [--webhooks 2000] [--leads 200] [--at-once 100] [--workers 1] [--json]

Real processes on embedded servers: one web process, workers, the simulator. Each lead has got a message and is due
for the next one; a crowd of others is due as well. Then signed replies, redeliveries and status reports arrive in
a shuffled order, so many at once. With `--json` the last line is one JSON object. Exit code 1 when anything was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp

from app.campaigns.operations.enrol import EnrolRequest, enrol_batch
from app.config import DEMO_AUTH_TOKEN, LaunchSettings
from app.demo.organisation import CAMPAIGN, SENDER
from app.integrity.runner import look
from app.launch.attach import servers
from app.launch.database import migrate
from app.messaging.gateways.twilio.forms import FormFields
from app.messaging.gateways.twilio.signature import signature_for
from tests.faults.planting import OPENS_AT
from tests.faults.stage import Stage, open_stage
from tests.fixtures.simulator import Lose

CROWD_PER_WEBHOOK = 2  # others who are due, so that the planner has work until the end
PACE = 60.0  # messages a second: the flood lasts some ten seconds or more
REPLIES, REPORTS = 4, ("sent", "delivered", "read", "delivered", "read")
NEXT_STEP_AFTER = timedelta(days=3, hours=1)


@dataclass(frozen=True, slots=True)
class Webhook:
    """One call, signed and ready; `lead` is set for a reply."""

    kind: str
    path: str
    body: bytes
    signature: str
    lead: int | None = None


@dataclass(slots=True)
class Answers:
    """What the client saw."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: {"inbound": [], "status": []})
    refused: int = 0
    replied_at: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0

    def percentile(self, share: float, kind: str | None = None) -> float:
        """Return a percentile of the times, of one kind or of all, in milliseconds."""
        times = sorted(t for k, ts in self.milliseconds.items() if kind in (None, k) for t in ts)
        return round(times[min(len(times) - 1, int(len(times) * share))], 1) if times else 0.0


def main() -> int:
    """Run once and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webhooks")
    parser.add_argument("--webhooks", type=int, default=2000)
    parser.add_argument("--leads", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warmline-webhooks-") as folder:
        launch = LaunchSettings.from_env({"WARMLINE_HOME": f"{folder}/servers"})
        with servers(launch, say=lambda _: None, throwaway=True) as addresses:
            migrate(addresses.database_url)
            figures = asyncio.run(_run(addresses.database_url, addresses.redis_url, Path(folder), options))
    for name, value in figures.items():
        print(f"{name:24} {value:>10}")
    if options.json:
        print(json.dumps(figures))
    lost = ("refused", "lost_signals", "extra_handoffs", "deadlocks", "sends_after_200", "violations")
    return 1 if any(figures[name] for name in lost) else 0


async def _run(
    database_url: str, redis_url: str, folder: Path, options: argparse.Namespace
) -> dict[str, float]:
    async with open_stage(
        database_url=database_url, redis_url=redis_url, folder=folder, workers=options.workers
    ) as stage:
        await stage.simulator.add_fault(Lose(), times=None)  # reports come from here alone
        leads = await _enrol(stage, options.leads, prefix="+60120")
        await _until(stage, "SELECT count(*) FROM sends WHERE status = 'accepted'", options.leads)
        await stage.pace(PACE)
        await _enrol(stage, options.webhooks * CROWD_PER_WEBHOOK, prefix="+60130")
        webhooks = await _webhooks(stage, leads, options.webhooks, seed=options.seed)
        await stage.advance(NEXT_STEP_AFTER)
        await asyncio.sleep(1.0)  # the planner is at it
        answers = await _flood(stage, webhooks, at_once=options.at_once)
        await _until(stage, "SELECT count(*) FROM signals WHERE processed_at IS NULL", 0)
        return await _figures(stage, webhooks, answers)


async def _enrol(stage: Stage, count: int, *, prefix: str) -> list[int]:
    """Add leads who agreed to WhatsApp, and enrol them."""
    now = OPENS_AT
    async with stage.database.transaction() as uow:
        rows = await uow.execute(
            "INSERT INTO contacts (name, language, time_zone, created_at, updated_at) "
            "SELECT 'Lead ' || n, 'en', 'Asia/Kuala_Lumpur', :now, :now FROM generate_series(1, :count) n RETURNING id",
            {"now": now, "count": count},
        )
        ids = [row.id for row in rows]
        await uow.execute(
            "INSERT INTO contact_identities (contact_id, kind, value, created_at) "
            "SELECT id, 'phone', :prefix || lpad(id::text, 6, '0'), :now FROM contacts WHERE id = ANY(:ids)",
            {"prefix": prefix, "now": now, "ids": ids},
        )
        await uow.execute(
            "INSERT INTO consents (contact_id, channel, granted, source, at) "
            "SELECT id, 'whatsapp', true, 'benchmark', :now FROM contacts WHERE id = ANY(:ids)",
            {"now": now, "ids": ids},
        )
    for start in range(0, count, 500):
        part = ids[start : start + 500]
        async with stage.database.transaction() as uow:
            requests = [EnrolRequest(contact_id, f"benchmark:{contact_id}") for contact_id in part]
            await enrol_batch(uow, campaign_key=CAMPAIGN, requests=requests, actor="benchmark", now=now)
    return ids


async def _webhooks(stage: Stage, leads: list[int], count: int, *, seed: int) -> list[Webhook]:
    rows = await stage.rows(
        "SELECT s.contact_id, i.value AS phone, a.id AS attempt, a.provider_message_id AS sid FROM sends s "
        "JOIN send_attempts a ON a.send_id = s.id JOIN contact_identities i ON i.contact_id = s.contact_id "
        "WHERE s.contact_id = ANY(:ids) ORDER BY s.contact_id",
        ids=leads,
    )
    found: list[Webhook] = []
    each = max(1, count // len(rows))
    for row in rows:
        found += [_webhook(stage, row, n) for n in range(each)]
    random.Random(seed).shuffle(found)
    return found


def _webhook(stage: Stage, row: Any, n: int) -> Webhook:
    """Of ten: four replies, one of them delivered again, and five reports, two of them late or doubled."""
    if n % 2 == 0:
        fields = {
            "MessageSid": f"SM{row.contact_id:024d}{n // 2 % REPLIES:08d}",
            "From": f"whatsapp:{row.phone}",
            "To": f"whatsapp:{SENDER}",
            "Body": f"Question {n // 2 % REPLIES}",
            "NumMedia": "0",
        }
        return _signed(stage, "inbound", "/webhooks/twilio/inbound", fields, row.contact_id)
    status = REPORTS[n // 2 % len(REPORTS)]
    fields = {"MessageSid": row.sid, "MessageStatus": status, "To": f"whatsapp:{row.phone}"}
    return _signed(stage, "status", f"/webhooks/twilio/status?attempt={row.attempt}", fields)


def _signed(stage: Stage, kind: str, path: str, fields: dict[str, str], lead: int | None = None) -> Webhook:
    pairs = FormFields(tuple((k.encode(), v.encode()) for k, v in fields.items()))
    base = stage.simulator.settings.webhook_base
    signature = signature_for(auth_token=DEMO_AUTH_TOKEN, url=f"{base}{path}", fields=pairs)
    return Webhook(kind, path, urlencode(fields).encode(), signature, lead)


async def _flood(stage: Stage, webhooks: list[Webhook], *, at_once: int) -> Answers:
    """Deliver everything, at most so many at once; the time of each counts from its request to its answer."""
    answers = Answers()
    gate = asyncio.Semaphore(at_once)
    base = stage.simulator.settings.webhook_base
    connector = aiohttp.TCPConnector(limit=at_once)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def deliver(webhook: Webhook) -> None:
            headers = {
                "Content-Type": "application/x-www-form-urlencoded",
                "X-Twilio-Signature": webhook.signature,
            }
            async with gate:
                begun = time.perf_counter()
                async with session.post(base + webhook.path, data=webhook.body, headers=headers) as answer:
                    await answer.read()
                answers.milliseconds[webhook.kind].append((time.perf_counter() - begun) * 1000)
            if answer.status != 200:
                answers.refused += 1
            elif webhook.lead is not None:
                answers.replied_at.setdefault(webhook.lead, time.time())

        begun = time.perf_counter()
        await asyncio.gather(*(deliver(webhook) for webhook in webhooks))
        answers.seconds = time.perf_counter() - begun
    return answers


async def _figures(stage: Stage, webhooks: list[Webhook], answers: Answers) -> dict[str, float]:
    leads = list(answers.replied_at)
    started = await stage.rows(
        "SELECT s.contact_id, extract(epoch FROM a.started_at)::float8 AS at FROM send_attempts a "
        "JOIN sends s ON s.id = a.send_id WHERE s.kind = 'campaign' AND s.contact_id = ANY(:ids)",
        ids=leads,
    )
    during = await stage.value(
        "SELECT count(*) FROM send_attempts WHERE started_at > clock_timestamp() - make_interval(secs => :s)",
        s=answers.seconds,
    )
    expected = len({(w.body, w.path) for w in webhooks})
    handoffs = await stage.value("SELECT count(*) FROM handoffs WHERE contact_id = ANY(:ids)", ids=leads)
    report = await look(stage.database)
    return {
        "webhook_p99_ms": answers.percentile(0.99),
        "webhook_p95_ms": answers.percentile(0.95),
        "webhook_p50_ms": answers.percentile(0.5),
        "inbound_p99_ms": answers.percentile(0.99, "inbound"),
        "status_p99_ms": answers.percentile(0.99, "status"),
        "webhooks": len(webhooks),
        "webhooks_per_s": round(len(webhooks) / answers.seconds, 1),
        "sends_meanwhile": during,
        "sends_after_200": sum(row.at > answers.replied_at[row.contact_id] for row in started),
        "refused": answers.refused,
        "lost_signals": expected - await stage.value("SELECT count(*) FROM signals"),
        "extra_handoffs": handoffs - len(leads),
        "deadlocks": await stage.value(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ),
        "violations": report.violations,
    }


async def _until(stage: Stage, count: str, wanted: int, *, seconds: float = 60.0) -> None:
    """Wait until a count is what it should be. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while (found := await stage.value(count)) != wanted:
        if time.monotonic() > end:
            raise TimeoutError(f"{count}: {found}, not {wanted}")
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
