"""The two sample lists become exactly the people that their descriptions promise."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.contacts.imports.domain.mapping import propose_mapping
from app.contacts.imports.domain.outcomes import (
    Identity,
    Outcome,
    Person,
    RowOutcome,
    in_chunks,
    resolve,
    standing_consents,
)
from app.contacts.imports.domain.rows import RowReader
from app.contacts.imports.domain.sniffing import records, sniff

DATA = Path(__file__).parents[2] / "data"
EXPECTED: list[dict[str, Any]] = json.loads((DATA / "leads-messy.expected.json").read_text(encoding="utf-8"))


def outcomes_of(content: bytes, *, chunk: int = 500) -> list[RowOutcome]:
    sheet = sniff(content)
    mapping = propose_mapping(sheet.header)
    assert mapping.problems == ()
    reader = RowReader(mapping=mapping, default_country="MY")
    leads = (reader.read(record) for record in records(content, sheet=sheet))
    known: dict[Identity, Person] = {}
    return [outcome for rows in in_chunks(leads, size=chunk) for outcome in resolve(rows, known=known)]


@pytest.fixture(scope="module")
def messy() -> dict[int, RowOutcome]:
    content = (DATA / "leads-messy.csv").read_bytes()
    return {outcome.lead.row: outcome for outcome in outcomes_of(content)}


@pytest.fixture(scope="module")
def open_day() -> list[RowOutcome]:
    return outcomes_of((DATA / "leads-open-day.csv").read_bytes())


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: f"row-{e['row']}")
def test_each_messy_row_becomes_what_is_expected(
    messy: dict[int, RowOutcome], expected: dict[str, Any]
) -> None:
    outcome = messy[expected["row"]]
    assert (outcome.outcome, outcome.lead.phone, outcome.lead.email) == (
        expected["outcome"],
        expected["phone"],
        expected["email"],
    )


def test_the_messy_file_has_no_other_rows(messy: dict[int, RowOutcome]) -> None:
    assert sorted(messy) == [expected["row"] for expected in EXPECTED]


def test_messy_second_touches_are_of_the_people_named(messy: dict[int, RowOutcome]) -> None:
    assert messy[2].person == Person(first_row=1)
    assert messy[20].person == Person(first_row=19)


def test_messy_conflict_lists_both_people_and_merges_neither(messy: dict[int, RowOutcome]) -> None:
    assert messy[21].people == (Person(first_row=19), Person(first_row=13))
    assert messy[21].person is None
    assert messy[21].new_identities == ()


@pytest.mark.parametrize(
    ("row", "warning"),
    [
        (5, "phone_scientific"),
        (14, "not_mobile"),
        (18, "invalid_email"),
        (19, "language_unknown"),
        (23, "consent_not_understood"),
        (25, "nul_removed"),
    ],
)
def test_messy_rows_carry_their_warnings(messy: dict[int, RowOutcome], row: int, warning: str) -> None:
    assert warning in messy[row].warnings


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (6, "phone_scientific"),
        (15, "phone_short_code"),
        (16, "no_identity"),
        (17, "invalid_email"),
        (22, "wrong_number_of_cells"),
    ],
)
def test_messy_rejections_say_why(messy: dict[int, RowOutcome], row: int, reason: str) -> None:
    assert messy[row].reason == reason


def test_messy_values_are_read_by_meaning(messy: dict[int, RowOutcome]) -> None:
    assert [messy[row].lead.language for row in (1, 2, 4, 8, 19)] == ["ms", "ms", "zh", "en", None]
    said = {row: messy[row].lead.consents.get("whatsapp") for row in (1, 2, 3, 4, 7, 8, 9, 10, 23)}
    assert said == {1: True, 2: True, 3: True, 4: True, 7: None, 8: True, 9: False, 10: False, 23: False}
    assert messy[1].lead.attributes == {"child_age": "4"}


def test_messy_names_stay_text_on_one_line(messy: dict[int, RowOutcome]) -> None:
    assert messy[7].lead.name is None
    assert messy[8].lead.name == 'Chong, "Jason"'
    assert messy[9].lead.name == '=HYPERLINK("http://x.example","Free")'
    assert messy[10].lead.name == "Hana Yusof"
    assert messy[11].lead.name == "Suresh 👨‍👩‍👧 Pillai"
    assert messy[12].lead.name == "مريم"
    assert messy[24].lead.name == "<script>alert(1)</script>"
    assert messy[25].lead.name == "NulByte"


def test_messy_lines_are_those_of_the_file(messy: dict[int, RowOutcome]) -> None:
    assert (messy[1].lead.line, messy[10].lead.line, messy[11].lead.line) == (2, 11, 13)


def test_open_day_has_1178_people_in_1200_rows(open_day: list[RowOutcome]) -> None:
    assert Counter(o.outcome for o in open_day) == {Outcome.CREATED: 1178, Outcome.MERGED: 22}


def test_open_day_lets_exactly_960_people_get_whatsapp(open_day: list[RowOutcome]) -> None:
    consents = standing_consents(open_day)
    assert sum(granted for (_, channel), granted in consents.items() if channel == "whatsapp") == 960


def test_outcomes_do_not_depend_on_how_the_file_is_cut() -> None:
    content = (DATA / "leads-open-day.csv").read_bytes()
    assert outcomes_of(content, chunk=7) == outcomes_of(content, chunk=1200)
