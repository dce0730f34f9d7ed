"""How a lead may be written to now, and by whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.inbox.domain.answering import (
    Author,
    Mode,
    Stale,
    Standing,
    Suppressed,
    check_colleague,
    check_free_text,
    check_fresh,
    check_template,
    is_visible,
    way_to,
)
from app.kernel.errors import Conflict, Invalid
from app.kernel.roles import Role

NOW = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
AINA = Author(1, Role.ADVISER)
MEI = Author(3, Role.MANAGER)
LEAD = Standing(
    name="Siti",
    has_phone=True,
    has_whatsapp=True,
    suppressed=(),
    whatsapp_inbound_at=NOW - timedelta(hours=1),
    last_inbound_channel="whatsapp",
    whatsapp_sender_id=7,
    sms_sender_id=None,
)


def test_an_open_window_takes_free_text_and_says_when_it_closes() -> None:
    way = way_to(LEAD, NOW)
    assert (way.mode, way.channel, way.sender_id, way.has_templates) == (Mode.FREE, "whatsapp", 7, True)
    assert way.closes_at == NOW + timedelta(hours=22, minutes=55)
    check_free_text(way)


@pytest.mark.parametrize(
    ("since", "mode"),
    [
        (timedelta(hours=23, minutes=54, seconds=59), Mode.FREE),
        (timedelta(hours=23, minutes=55), Mode.TEMPLATE),
        (timedelta(hours=23, minutes=59, seconds=30), Mode.TEMPLATE),
        (timedelta(days=3), Mode.TEMPLATE),
    ],
)
def test_G01_the_window_closes_for_us_before_it_does_for_the_provider(since: timedelta, mode: Mode) -> None:
    assert way_to(replace(LEAD, whatsapp_inbound_at=NOW - since), NOW).mode is mode


def test_G01_free_text_after_the_window_is_refused_with_what_to_do() -> None:
    way = way_to(replace(LEAD, whatsapp_inbound_at=NOW - timedelta(hours=25)), NOW)
    with pytest.raises(Invalid, match="Choose an approved template"):
        check_free_text(way)
    check_template(way)


def test_somebody_who_never_wrote_gets_templates_only() -> None:
    assert (
        way_to(replace(LEAD, whatsapp_inbound_at=None, last_inbound_channel=None), NOW).mode is Mode.TEMPLATE
    )


def test_somebody_who_said_stop_may_be_answered_while_their_window_is_open_but_gets_no_template() -> None:
    stopped = replace(LEAD, suppressed=(Suppressed("all", "stop_word"),))
    way = way_to(stopped, NOW)
    assert (way.mode, way.has_templates) == (Mode.FREE, False)
    with pytest.raises(Invalid):
        check_template(way)
    later = way_to(stopped, NOW + timedelta(days=2))
    assert later.mode is Mode.BLOCKED
    assert "asked us to stop" in later.words


@pytest.mark.parametrize("reason", ["provider_block", "unreachable"])
def test_nobody_writes_through_a_door_that_the_provider_closed(reason: str) -> None:
    way = way_to(replace(LEAD, suppressed=(Suppressed("whatsapp", reason),)), NOW)
    assert way.mode is Mode.BLOCKED
    with pytest.raises(Invalid, match="Siti"):
        check_free_text(way)


def test_a_block_on_another_channel_changes_nothing_here() -> None:
    assert way_to(replace(LEAD, suppressed=(Suppressed("sms", "provider_block"),)), NOW).mode is Mode.FREE


def test_without_a_number_or_a_sender_the_composer_says_so() -> None:
    assert "no number" in way_to(replace(LEAD, has_phone=False, has_whatsapp=False), NOW).words
    assert "no sender" in way_to(replace(LEAD, whatsapp_sender_id=None), NOW).words


def test_who_wrote_by_sms_is_answered_by_sms() -> None:
    by_sms = replace(LEAD, whatsapp_inbound_at=None, last_inbound_channel="sms", sms_sender_id=9)
    assert (way_to(by_sms, NOW).channel, way_to(by_sms, NOW).sender_id) == ("sms", 9)
    assert way_to(replace(by_sms, sms_sender_id=None), NOW).channel == "whatsapp"
    blocked = replace(by_sms, suppressed=(Suppressed("sms", "unreachable"),))
    assert way_to(blocked, NOW).mode is Mode.TEMPLATE


def test_nobody_answers_over_a_colleague_but_a_manager() -> None:
    farids = replace(LEAD, owner_id=2, owner_name="Farid Osman")
    with pytest.raises(Conflict, match="Farid Osman answers this lead"):
        check_colleague(farids, AINA)
    check_colleague(farids, MEI)
    check_colleague(replace(farids, owner_id=1), AINA)
    check_colleague(LEAD, AINA)


def test_an_adviser_sees_their_own_leads_and_the_pool_a_manager_all() -> None:
    assert [is_visible(owner, AINA) for owner in (1, None, 2)] == [True, True, False]
    assert [is_visible(owner, MEI) for owner in (1, None, 2)] == [True, True, True]


def test_a_newer_message_of_somebody_else_refuses_and_ones_own_do_not() -> None:
    check_fresh(seen_version=5, version=5, own_since=0)
    check_fresh(seen_version=5, version=7, own_since=2)
    with pytest.raises(Stale):
        check_fresh(seen_version=5, version=6, own_since=0)
    with pytest.raises(Stale):
        check_fresh(seen_version=5, version=7, own_since=1)
