"""Every reason that the gates can give has words."""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime

import pytest

from app.campaigns.domain import gates
from app.leads.reasons import reason_words

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)


def words(reason: str) -> str:
    """Return the words of a reason."""
    return reason_words(reason, zone="Asia/Kuala_Lumpur", now=NOW)


def test_every_plain_reason_of_the_gates_has_words_of_its_own() -> None:
    plain = set(re.findall(r'(?:Skip|Defer)\("([a-z_]+)"', inspect.getsource(gates)))
    assert plain >= {
        "no_address",
        "no_consent",
        "quiet_hours",
        "contact_gap",
        "window_closed",
        "campaign_paused",
    }
    for reason in plain:
        assert words(reason) not in ("", reason.replace("_", " ")), reason


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("kill_switch:channel:whatsapp", "this channel is stopped by the kill switch"),
        ("suppressed:stop_word", "not to be contacted: they asked us to stop"),
        ("template_pending", "the template waits for approval"),
        ("sender_credentials", "the provider refuses the sender's credentials"),
        ("live_in:open_day", "they are in the campaign “open day” now"),
        ("63016", "the provider's reason 63016"),
        ("Family is travelling", "Family is travelling"),
        ("on holiday: call in May", "on holiday: call in May"),
        ("some_new_reason", "some new reason"),
        ("", ""),
    ],
)
def test_reasons_read_plainly_and_what_people_wrote_stays(reason: str, said: str) -> None:
    assert words(reason) == said
