"""The gates, one by one and in their order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from app.campaigns.domain.definition import SendWindow
from app.campaigns.domain.gates import (
    Defer,
    GateFacts,
    GatePolicy,
    Pass,
    Skip,
    Verdict,
    judge,
    validity_seconds,
)

NOON = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)  # 12:00 in Kuala Lumpur
NIGHT = NOON + timedelta(hours=10)
POLICY = GatePolicy()
OPEN = GateFacts(
    kind="campaign",
    channel="whatsapp",
    kill_switches=(),
    campaign_active=True,
    address="+60120000001",
    suppressed=(),
    consent=True,
    sender_status="active",
    template_approval="approved",
    whatsapp_inbound_at=None,
    zone="Asia/Kuala_Lumpur",
    last_campaign_send_at=None,
)


def verdict(now: datetime = NOON, **changes: Any) -> Verdict:
    """Judge a send that passes but for the changes."""
    return judge(replace(OPEN, **changes), POLICY, now)


def test_what_nothing_stops_passes() -> None:
    assert verdict() == Pass()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kill_switches": ("global",)}, Defer("kill_switch:global", NOON)),
        ({"campaign_active": False}, Defer("campaign_paused", NOON)),
        ({"address": None}, Skip("no_address")),
        ({"suppressed": ("stop_word",)}, Skip("suppressed:stop_word")),
        ({"consent": None}, Skip("no_consent")),
        ({"consent": False}, Skip("no_consent")),
        ({"sender_status": "off"}, Defer("sender_off", NOON)),
        ({"sender_status": "credentials"}, Defer("sender_credentials", NOON)),
        ({"template_approval": "pending"}, Defer("template_pending", NOON + timedelta(minutes=10))),
        ({"template_approval": "paused"}, Defer("template_paused", NOON + timedelta(minutes=10))),
        ({"template_approval": "rejected"}, Skip("template_rejected")),
        ({"template_approval": "disabled"}, Skip("template_disabled")),
        ({"template_approval": None}, Skip("window_closed")),
        ({"channel": "sms", "country": "MY"}, Pass()),
        ({"channel": "sms", "country": "US"}, Skip("country:US")),
        ({"channel": "sms", "country": None}, Skip("country:unknown")),
        ({"channel": "sms", "country": "MY", "zone_known": False}, Skip("zone_unknown")),
        ({"zone_known": False}, Pass()),
        ({"about_visit": True, "last_campaign_send_at": NOON - timedelta(minutes=5)}, Pass()),
        (
            {"window": SendWindow(frozenset({0}), time(10), time(12))},
            Defer("send_window", NOON + timedelta(days=6, hours=22)),
        ),
        (
            {"last_campaign_send_at": NOON - timedelta(hours=19)},
            Defer("contact_gap", NOON + timedelta(hours=1)),
        ),
    ],
)
def test_each_gate_stops_with_its_own_reason(changes: dict[str, Any], expected: Verdict) -> None:
    assert verdict(**changes) == expected


def test_quiet_hours_defer_to_the_morning() -> None:
    assert verdict(NIGHT) == Defer("quiet_hours", datetime(2026, 12, 1, 0, 0, tzinfo=UTC))


def test_the_gap_between_two_campaign_messages_is_over_after_20_hours() -> None:
    assert verdict(last_campaign_send_at=NOON - timedelta(hours=20)) == Pass()


def test_free_text_passes_in_an_open_window_and_templates_do_not_need_one() -> None:
    assert verdict(template_approval=None, whatsapp_inbound_at=NOON - timedelta(hours=23)) == Pass()
    assert verdict(template_approval=None, whatsapp_inbound_at=NOON - timedelta(hours=24)) == Skip(
        "window_closed"
    )
    assert verdict(channel="sms", country="MY", template_approval=None) == Pass()


IN_ORDER: list[tuple[dict[str, Any], str]] = [
    ({"kill_switches": ("channel:whatsapp",)}, "kill_switch:channel:whatsapp"),
    ({"campaign_active": False}, "campaign_paused"),
    ({"address": None}, "no_address"),
    ({"suppressed": ("complaint",)}, "suppressed:complaint"),
    ({"consent": False}, "no_consent"),
    ({"sender_status": "off"}, "sender_off"),
    ({"template_approval": "rejected"}, "template_rejected"),
    ({}, "quiet_hours"),  # the moment itself
    ({"last_campaign_send_at": NIGHT}, "contact_gap"),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER) - 1))
def test_the_first_closed_gate_in_the_contracts_order_gives_the_reason(first: int) -> None:
    changes: dict[str, Any] = {}
    for change, _ in IN_ORDER[first:]:
        changes |= change
    found = verdict(NIGHT, **changes)
    assert not isinstance(found, Pass)
    assert found.reason == IN_ORDER[first][1]


@pytest.mark.parametrize("kind", ["adviser", "system"])
def test_messages_of_people_and_of_the_system_have_a_short_list(kind: str) -> None:
    late = {"last_campaign_send_at": NIGHT, "consent": None, "campaign_active": False}
    assert verdict(NIGHT, kind=kind, suppressed=("stop_word",), **late) == Pass()
    assert verdict(kind=kind, suppressed=("stop_word", "provider_block")) == Skip("suppressed:provider_block")
    assert verdict(kind=kind, kill_switches=("global",)) == Defer("kill_switch:global", NOON)
    assert verdict(kind=kind, address=None) == Skip("no_address")
    assert verdict(kind=kind, sender_status="credentials") == Defer("sender_credentials", NOON)
    assert verdict(kind=kind, template_approval=None) == Skip("window_closed")


@pytest.mark.parametrize(
    ("local", "seconds"), [("12:00", 14_400), ("20:00", 3_600), ("20:59", 60), ("20:59:50", 60)]
)
def test_nothing_is_delivered_after_the_last_hour(local: str, seconds: int) -> None:
    now = datetime.fromisoformat(f"2026-11-30T{local}+08:00")
    assert validity_seconds(now, policy=POLICY, zone="Asia/Kuala_Lumpur") == seconds
