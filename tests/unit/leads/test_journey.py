"""Every event of the ledger has words; people and personal values are named, and never guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.leads.journey import WORDS, Line, Names, SentMessage, Teller, quoted

NOW = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
TYPES = (  # noqa: SIM905 (as the contract lists them)
    "enrolled touched enrol_refused path_entered send_queued send_started send_accepted delivered read clicked failed "
    "unknown skipped deferred superseded replied noted auto_replied called crm_changed booked rescheduled cancelled "
    "attended no_show opted_out opted_in bounced complained suppressed paused resumed held released "
    "condition_evaluated handoff_opened assigned accepted answered sla_warned sla_breached escalated handoff_closed "
    "task_opened task_done version_adopted version_moved merged closed exhausted exited ignored"
).split()
NAMES = Names(
    users={1: "Aina Rahman", 2: "Farid Osman"},
    sends={
        7: SentMessage("campaign", "Welcome", None, "Hello Siti"),
        8: SentMessage("adviser", None, "Aina Rahman", "It is RM 380"),
    },
    inbound={3: "How   much\nis it?"},
    templates={"nudge": "Friendly nudge"},
    steps={(5, "last_word"): "Last word"},
    campaigns={5: "Enquiry to visit"},
    campaign_keys={"family": "Enquiry to visit"},
)
TELLER = Teller(NAMES, "Asia/Kuala_Lumpur", NOW)


def told(type_: str, cause: str | None = None, actor: str = "engine", **data: Any) -> tuple[str, str]:
    """Return title and detail of an event."""
    event = TELLER.tell(Line(1, type_, NOW, actor, cause, 5, data))
    return event.title, event.detail


def test_every_type_of_the_contract_has_words_and_there_is_no_other() -> None:
    assert set(WORDS) == set(TYPES)


@pytest.mark.parametrize("type_", TYPES)
def test_an_event_with_nothing_but_its_type_is_told_all_the_same(type_: str) -> None:
    title, detail = told(type_)
    assert title.startswith("“") or title[0].isupper()
    assert "None" not in title + detail and "_" not in title + detail


def test_a_type_of_a_later_version_is_shown_by_its_name() -> None:
    assert told("moon_landed") == ("Moon landed", "")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            told("task_opened", "needs_review", kind="review", ref="send:7"),
            ("A person has to look: was “Welcome” sent?", ""),
        ),
        (
            told("task_opened", "inconclusive", kind="review", send_id=8),
            ("A person has to look: was Aina's message sent?", "Nobody can tell whether a message went out"),
        ),
        (
            told("task_opened", "version_mismatch", kind="review", ref="position:nurture/gone"),
            ("A person has to look", "The campaign's version does not have this step"),
        ),
        (told("task_done", "user:1", kind="review", verdict="again"), ("Review done", "Send it again")),
        (told("enrolled", "import:1", generation=1, version=4), ("Joined “Enquiry to visit”", "Version 4")),
        (
            told("enrolled", generation=2, version=4, override="asked for it"),
            ("Joined “Enquiry to visit”", "Version 4, for the second time, in spite of a rest period: asked for it"),
        ),
        (
            told("enrol_refused", "in_cooldown_until:2027-01-31T00:00:00+00:00", campaign="family"),
            ("Not taken into “Enquiry to visit”", "They rest until Sun 31 Jan 2027, 08:00, Kuala Lumpur time"),
        ),
        (told("send_queued", template="nudge", step="nudge"), ("“Friendly nudge” is due", "")),
        (told("skipped", "step_off", step="last_word"), ("“Last word” left out", "This step is switched off")),
        (told("send_accepted", "finish", send_id=7), ("“Welcome” sent", "“Hello Siti”")),
        (told("read", send_id=8), ("Aina's message read", "")),
        (
            told("deferred", "quiet_hours", send_id=7, until="2026-12-01T00:00:00+00:00"),
            (
                "“Welcome” put off",
                "Quiet hours where they live: nothing goes out between 21:00 and 08:00, again tomorrow 08:00",
            ),
        ),
        (
            told("failed", "63016", send_id=7, later=True),
            ("“Welcome” was not delivered", "The provider's reason 63016, after the provider had taken it"),
        ),
        (told("replied", "signal:3", "lead"), ("The lead answered", "“How much is it?”")),
        (
            told("replied", "signal:3", "lead", may_want_to_stop="no"),
            ("Wrote something that may mean stop", "“How much is it?”"),
        ),
        (told("paused", "signal:3", "lead", reason="replied"), ("Campaign paused", "They answered")),
        (
            told("assigned", None, "routing", owner_id=2, reason="lowest load", load=3, capacity=40),
            ("Farid Osman has the lead", "Lowest load, 3 of 40 leads before"),
        ),
        (
            told("assigned", None, "user:1", reason="given back to the pool"),
            ("Back in the pool", "Given back to the pool"),
        ),
        (
            told("answered", None, "user:1", user_id=1, seconds=250, in_time=True, is_first=True),
            ("Aina Rahman answered", "First reply, after 4 min of working time, in time"),
        ),
        (
            told("sla_breached", None, "system", due_at="2026-11-30T01:15:00+00:00"),
            ("Reply overdue", "Was due today 09:15"),
        ),
        (told("handoff_closed", None, "user:1", outcome="won"), ("Handoff closed: won", "")),
        (told("closed", "lost", "user:1"), ("Journey closed", "Lost")),
        (told("exhausted", "path_ended"), ("Campaign ended without an answer", "All its messages were sent")),
        (
            told("ignored", "human_signal at closed/completed"),
            ("Noted; nothing changed", "Human signal while closed/completed"),
        ),
    ],
)  # fmt: skip
def test_the_words(event: tuple[str, str], words: tuple[str, str]) -> None:
    assert event == words


@pytest.mark.parametrize(
    ("actor", "name"),
    [
        ("user:1", "Aina Rahman"),
        ("user:99", "A former colleague"),
        ("lead", "The lead"),
        ("signal:3", "The lead"),
        ("engine", "The campaign"),
        ("import:12", "Import 12"),
        ("routing", "Routing"),
    ],
)
def test_the_actor_is_named(actor: str, name: str) -> None:
    assert TELLER.tell(Line(1, "resumed", NOW, actor)).actor == name


def test_the_cause_is_told_once() -> None:
    assert TELLER.tell(Line(1, "replied", NOW, "lead", "signal:3")).cause == "by their message"
    assert TELLER.tell(Line(1, "resumed", NOW, "user:1", "user:1")).cause == ""
    assert TELLER.tell(Line(1, "resumed", NOW, "engine", "user:2")).cause == "by Farid Osman"
    assert TELLER.tell(Line(1, "skipped", NOW, "engine", "no_consent", 5, {"step": "last_word"})).cause == ""


def test_a_value_in_the_facts_comes_before_the_bubble_and_erasure_leaves_the_event() -> None:
    kept = Line(1, "replied", NOW, "lead", "signal:3", facts={"text": "from the facts"})
    assert TELLER.tell(kept).detail == "“from the facts”"
    erased = Teller(Names(), "Asia/Kuala_Lumpur", NOW).tell(Line(1, "replied", NOW, "lead", "signal:3"))
    assert (erased.title, erased.detail) == ("The lead answered", "")


def test_long_words_are_cut_on_one_line() -> None:
    assert quoted("a\n b") == "“a b”"
    assert len(quoted("x" * 500)) == 162 and quoted("x" * 500).endswith("…”")
