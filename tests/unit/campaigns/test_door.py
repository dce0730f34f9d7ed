"""What the door decides, over every mix of what may stand in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from app.campaigns.domain.door import Asked, EnrolRequest, Standing, WhenBusy, judge

UNTIL = datetime(2027, 2, 28, 1, 0, tzinfo=UTC)
FREE = Standing(zone=None, generation=1)
WISH = EnrolRequest(1, "form:1")
LIVE = replace(FREE, live_id=7, live_campaign="open_day")


def outcome(
    standing: Standing, wish: EnrolRequest = WISH, exempt: str | None = None
) -> tuple[str, str | None]:
    verdict = judge(wish, standing, exempt_because=exempt)
    return verdict.outcome, verdict.reason


def test_who_is_free_comes_in() -> None:
    assert outcome(FREE) == ("enrolled", None)


@pytest.mark.parametrize("when_busy", list(WhenBusy))
def test_a_closed_channel_is_opened_by_nobody(when_busy: WhenBusy) -> None:
    for override, own_act in product((None, "they called"), (None, "booked")):
        wish = EnrolRequest(1, "form:1", override, when_busy, own_act)
        assert outcome(replace(FREE, suppressed=True), wish, "an apology") == ("refused", "suppressed")
        assert outcome(replace(FREE, usable=False), wish, "an apology") == ("refused", "no_usable_channel")


def test_no_wish_throws_anybody_out_of_another_campaign() -> None:
    for override, own_act, exempt in product((None, "they called"), (None, "booked"), (None, "an apology")):
        wish = EnrolRequest(1, "form:1", override, WhenBusy.REFUSE, own_act)
        assert outcome(LIVE, wish, exempt) == ("refused", "live_in:open_day")
        assert outcome(LIVE, replace(wish, when_busy=WhenBusy.WAIT), exempt) == (
            "waiting",
            "live_in:open_day",
        )


def test_a_rest_refuses_with_its_date_even_those_who_would_wait_but_not_those_who_wait_already() -> None:
    resting = replace(FREE, cooldown_until=UNTIL)
    reason = f"in_cooldown_until:{UNTIL.isoformat()}"
    assert outcome(resting) == ("refused", reason)
    assert outcome(resting, replace(WISH, when_busy=WhenBusy.WAIT)) == ("refused", reason)
    assert outcome(replace(resting, waits=True)) == ("waiting", reason)


def test_what_lets_in_somebody_who_rests_is_told() -> None:
    resting = replace(FREE, cooldown_until=UNTIL)
    for wish, exempt, told in (
        (replace(WISH, override_reason=" they called "), None, "they called"),
        (replace(WISH, own_act="booked a visit"), None, "their own act: booked a visit"),
        (WISH, "an apology", "the campaign is exempt: an apology"),
    ):
        verdict = judge(wish, resting, exempt_because=exempt)
        assert (verdict.outcome, verdict.override) == ("enrolled", told)
    assert judge(WISH, FREE, exempt_because="an apology").override is None, "nothing was overridden"


def test_a_blank_reason_overrides_nothing() -> None:
    resting = replace(FREE, cooldown_until=UNTIL)
    assert outcome(resting, replace(WISH, override_reason="  "))[0] == "refused"


def test_the_machine_does_not_write_over_the_head_of_who_talks_with_them() -> None:
    talks = replace(FREE, with_a_person=True)
    assert outcome(talks) == ("refused", "with_an_adviser")
    assert outcome(talks, replace(WISH, when_busy=WhenBusy.WAIT)) == ("waiting", "with_an_adviser")
    assert outcome(talks, exempt="an apology") == ("refused", "with_an_adviser")
    assert outcome(talks, replace(WISH, override_reason="agreed with Aina")) == ("enrolled", None)


def test_the_same_ref_is_answered_as_before_whatever_has_happened_since() -> None:
    for standing in (FREE, LIVE, replace(FREE, suppressed=True), replace(FREE, cooldown_until=UNTIL)):
        ended = judge(WISH, replace(standing, same_ref=5), exempt_because=None)
        assert (ended.outcome, ended.enrolment_id) == ("repeated", 5)
        admitted = judge(WISH, replace(standing, asked=Asked("admitted", 6)), exempt_because=None)
        assert (admitted.outcome, admitted.enrolment_id) == ("repeated", 6)
        assert outcome(replace(standing, asked=Asked("withdrawn", None))) == ("refused", "withdrawn")
    for dropped in ("refused", "expired"):
        assert outcome(replace(FREE, asked=Asked(dropped, None))) == ("enrolled", None)


def test_live_in_this_campaign_is_a_second_touch_even_where_the_channel_is_closed() -> None:
    here = replace(FREE, live_id=7, is_live_here=True, suppressed=True, usable=False)
    verdict = judge(WISH, here, exempt_because=None)
    assert (verdict.outcome, verdict.enrolment_id) == ("touched", 7)
