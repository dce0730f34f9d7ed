"""What a bubble says about our message, and when trying again is offered."""

from __future__ import annotations

import re

import pytest

from app.inbox.domain.delivery import UNCERTAIN, SendFacts, delivery_of
from app.messaging.gateways.twilio.errors import RULES


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("queued", "queued"),
        ("sending", "sending"),
        ("accepted", "sending"),
        ("sent", "sent"),
        ("delivered", "delivered"),
        ("read", "read"),
    ],
)
def test_a_message_under_way_shows_its_state_and_no_failure(status: str, state: str) -> None:
    delivery = delivery_of(SendFacts("adviser", status, outcomes=("accepted",)), is_window_open=True)
    assert (delivery.state, delivery.failure, delivery.can_retry) == (state, "", False)


def test_an_unknown_outcome_is_never_called_failed_and_offers_no_retry() -> None:
    for facts in (
        SendFacts("adviser", "unknown", outcomes=("unknown",)),
        SendFacts("adviser", "needs_review", outcomes=("unknown",)),
        SendFacts("adviser", "a_status_of_tomorrow"),
    ):
        delivery = delivery_of(facts, is_window_open=True)
        assert (delivery.state, delivery.can_retry) == ("unknown", False)
    assert delivery_of(SendFacts("adviser", "unknown"), is_window_open=True).failure == UNCERTAIN


@pytest.mark.parametrize(("is_open", "can_retry"), [(True, True), (False, False)])
def test_G01_a_bare_63016_is_shown_in_words_and_helps_again_once_the_window_is_open(
    is_open: bool, can_retry: bool
) -> None:
    facts = SendFacts("adviser", "failed", "63016", "63016", ("failed",))
    delivery = delivery_of(facts, is_window_open=is_open)
    assert delivery.failure.startswith("This person last wrote more than 24 hours ago")
    assert delivery.can_retry is can_retry


@pytest.mark.parametrize(
    ("code", "can_retry"),
    [("30003", True), ("63049", True), ("63024", False), ("21610", False), ("99999", False)],
)
def test_retry_is_offered_where_the_provider_says_it_may_help(code: str, can_retry: bool) -> None:
    delivery = delivery_of(SendFacts("adviser", "undelivered", code, code, ("failed",)), is_window_open=True)
    assert (delivery.state, delivery.can_retry) == ("failed", can_retry)
    assert delivery.failure.endswith((".", ")."))


@pytest.mark.parametrize("code", sorted(RULES))
def test_what_the_campaign_would_do_is_not_promised_for_a_message_of_ones_own(code: int) -> None:
    told = delivery_of(SendFacts("adviser", "failed", str(code), str(code), ("failed",)), is_window_open=True)
    assert told.failure.endswith(".")
    assert not re.search(r"We (try|wait)|goes out later", told.failure)


def test_an_attempt_that_is_open_or_unknown_forbids_another() -> None:
    for outcomes in ((None,), ("rejected", None), ("unknown", "rejected"), ("accepted",)):
        facts = SendFacts("adviser", "failed", "30003", "30003", outcomes)
        assert not delivery_of(facts, is_window_open=True).can_retry


def test_the_campaigns_own_messages_are_not_retried_by_hand() -> None:
    facts = SendFacts("campaign", "failed", "30003", "30003", ("failed",))
    assert not delivery_of(facts, is_window_open=True).can_retry


def test_a_message_held_back_says_why_and_may_go_again() -> None:
    held = delivery_of(SendFacts("adviser", "waiting", "kill_switch:global"), is_window_open=True)
    assert (held.state, held.can_retry) == ("failed", True)
    assert held.failure == "Held back: sending is switched off at the moment."
    sender = delivery_of(SendFacts("adviser", "waiting", "sender_credentials"), is_window_open=True)
    assert "sender is off" in sender.failure


def test_a_message_left_out_at_the_last_moment_says_why() -> None:
    delivery = delivery_of(SendFacts("adviser", "skipped", "window_closed"), is_window_open=False)
    assert "reply window had closed" in delivery.failure
    assert not delivery.can_retry
