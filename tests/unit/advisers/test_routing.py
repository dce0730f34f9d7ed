"""Who is given a lead: the ranking, and that nobody gets above their capacity."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.advisers.domain.routing import Seat, WaitingLead, route, route_all

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
LEAD = WaitingLead(handoff_id=1, contact_id=1, language="ms", sticky_owner_id=None)


def seat(user_id: int, **changes: object) -> Seat:
    plain = Seat(user_id=user_id, state="ready", is_taking=True, is_on_shift=True, load=0, capacity=10)
    return replace(plain, **changes)  # type: ignore[arg-type]


def chosen(lead: WaitingLead, *seats: Seat) -> int | None:
    return route(lead, seats).owner_id


def test_who_knows_the_lead_comes_before_language_and_load() -> None:
    lead = replace(LEAD, sticky_owner_id=2)
    assert chosen(lead, seat(1, languages=("ms",)), seat(2, load=9)) == 2


@pytest.mark.parametrize(
    "absence",
    [{"state": "away"}, {"state": "left"}, {"is_taking": False}, {"is_on_shift": False}, {"load": 10}],
)
def test_a_returning_lead_never_lands_on_somebody_who_is_away_or_full(absence: dict[str, object]) -> None:
    lead = replace(LEAD, sticky_owner_id=2)
    assert chosen(lead, seat(1), seat(2, **absence)) == 1
    assert chosen(lead, seat(2, **absence)) is None


def test_language_comes_before_load_but_does_not_leave_a_lead_alone() -> None:
    assert chosen(LEAD, seat(1), seat(2, languages=("en", "ms"), load=8)) == 2
    assert chosen(LEAD, seat(1, load=3, languages=("en",)), seat(2, load=2, languages=("zh",))) == 2


def test_a_language_fits_whatever_its_region_or_script() -> None:
    lead = replace(LEAD, language="zh-Hant")
    assert chosen(lead, seat(1), seat(2, languages=("ZH",), load=1)) == 2


def test_load_counts_in_proportion_to_capacity() -> None:
    assert chosen(LEAD, seat(1, load=3, capacity=4), seat(2, load=5, capacity=10)) == 2


def test_equal_loads_go_to_the_longest_idle_and_then_to_the_lower_id() -> None:
    rested = NOW - timedelta(hours=2)
    assert chosen(LEAD, seat(1, last_assigned_at=NOW), seat(2, last_assigned_at=rested)) == 2
    assert chosen(LEAD, seat(1, last_assigned_at=NOW), seat(2)) == 2
    assert chosen(LEAD, seat(2), seat(1)) == 1


def test_a_lead_that_was_given_back_goes_to_the_same_person_only_if_nobody_else_is_free() -> None:
    lead = replace(LEAD, sticky_owner_id=1, had_by=frozenset({1}))
    assert chosen(lead, seat(1, languages=("ms",)), seat(2, load=9)) == 2
    assert chosen(lead, seat(1)) == 1


def test_every_candidate_is_kept_with_what_was_seen() -> None:
    routing = route(LEAD, [seat(1, load=2, languages=("ms",)), seat(2, state="away"), seat(3, load=10)])
    assert [(c.user_id, c.verdict, c.load, c.capacity) for c in routing.considered] == [
        (1, "chosen", 2, 10),
        (2, "not_ready", 0, 10),
        (3, "full", 10, 10),
    ]
    assert (routing.load_seen, routing.capacity_seen) == (2, 10)
    assert routing.reason == "speaks their language, lowest load"


def test_a_seat_without_capacity_is_never_given_a_lead() -> None:
    assert chosen(LEAD, seat(1, capacity=0)) is None


seats_in_any_state = st.lists(
    st.builds(
        Seat,
        user_id=st.integers(1, 40),
        state=st.sampled_from(["ready", "ready", "away", "training"]),
        is_taking=st.booleans(),
        is_on_shift=st.booleans(),
        load=st.integers(0, 6),
        capacity=st.integers(0, 6),
        languages=st.lists(st.sampled_from(["en", "ms", "zh"]), max_size=2).map(tuple),
        last_assigned_at=st.none() | st.just(NOW),
    ),
    max_size=6,
    unique_by=lambda candidate: candidate.user_id,
)
leads_of_any_kind = st.lists(
    st.builds(
        WaitingLead,
        handoff_id=st.integers(1, 99),
        contact_id=st.integers(1, 99),
        language=st.sampled_from(["en", "ms", "zh"]),
        sticky_owner_id=st.none() | st.integers(1, 40),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(leads_of_any_kind, seats_in_any_state)
def test_a_set_fills_free_places_exactly_and_never_more(leads: list[WaitingLead], seats: list[Seat]) -> None:
    routings = route_all(leads, seats, now=NOW)
    given_to = [routing.owner_id for routing in routings if routing.owner_id is not None]
    places = {s.user_id: s.capacity - s.load for s in seats if s.verdict == "free"}
    assert len(given_to) == min(len(leads), sum(places.values()))
    assert all(given_to.count(user_id) <= places.get(user_id, 0) for user_id in given_to)
    assert all(r.load_seen < r.capacity_seen for r in routings if r.owner_id is not None)
