from itertools import permutations

import pytest

from app.messaging.domain.statuses import RankVerdict, apply_rank, rank_of, send_status_for


def run(*reports: str, start: str | None = "accepted") -> tuple[str | None, list[RankVerdict]]:
    state, verdicts = start, []
    for report in reports:
        decision = apply_rank(current=state, new=report)
        state = decision.status
        verdicts.append(decision.verdict)
    return state, verdicts


@pytest.mark.parametrize(
    ("reports", "final"), [(("delivered", "sent", "queued"), "delivered"), (("read", "delivered"), "read")]
)
def test_B01_a_late_status_never_lowers_the_state(reports: tuple[str, ...], final: str) -> None:
    state, verdicts = run(*reports)
    assert state == final
    assert verdicts == [RankVerdict.RAISED, *[RankVerdict.LATE] * (len(reports) - 1)]


@pytest.mark.parametrize("reports", [("sent", "delivered", "failed"), ("read", "undelivered")])
def test_B03_a_failure_after_delivery_is_an_anomaly_that_changes_nothing(reports: tuple[str, ...]) -> None:
    state, verdicts = run(*reports)
    assert state in {"delivered", "read"}
    assert verdicts[-1] is RankVerdict.FAILURE_AFTER_DELIVERY
    decision = apply_rank(current=state, new=reports[-1])
    assert decision.is_anomaly
    assert not decision.changes_state


def test_B05_delivered_counts_without_an_earlier_sent_and_before_anything_is_known() -> None:
    assert run("delivered")[0] == "delivered"
    assert run("delivered", start=None)[0] == "delivered"


def test_B07_progress_in_any_order_ends_at_the_highest() -> None:
    for order in permutations(["queued", "sending", "sent", "delivered", "read"]):
        assert run(*order)[0] == "read"


def test_a_failure_stays_and_a_delivery_after_it_is_flagged() -> None:
    assert run("undelivered", "sent", "failed") == (
        "undelivered",
        [RankVerdict.FAILED, RankVerdict.LATE, RankVerdict.UNCHANGED],
    )
    assert apply_rank(current="failed", new="delivered").is_anomaly


def test_a_redelivery_changes_nothing() -> None:
    assert run("read", "read")[1] == [RankVerdict.RAISED, RankVerdict.UNCHANGED]


@pytest.mark.parametrize("status", ["partially_delivered", "brand_new", ""])
def test_an_unknown_status_is_kept_without_effect(status: str) -> None:
    assert rank_of(status) is None
    decision = apply_rank(current="sent", new=status)
    assert (decision.status, decision.verdict) == ("sent", RankVerdict.UNKNOWN_STATUS)
    assert send_status_for(status) is None


def test_the_providers_own_queueing_is_our_accepted() -> None:
    assert {send_status_for(s) for s in ("accepted", "scheduled", "queued", "sending")} == {"accepted"}
    assert send_status_for("canceled") == "failed"
