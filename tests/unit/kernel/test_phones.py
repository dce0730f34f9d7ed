"""Whatever people write for one phone becomes one number, or nothing with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.phones import normalise_phone


def e164(text: str) -> str | None:
    return normalise_phone(text, default_country="MY").e164


@pytest.mark.parametrize(
    "text",
    ["+60 012-345 6789", "60012 3456789", "(60) 012 345 6789", "0060 12 345 6789", "012 345 6789"],
)
def test_e07_country_code_and_national_zero_together(text: str) -> None:
    assert e164(text) == "+60123456789"


@pytest.mark.parametrize(
    "text",
    [
        "60123456789",
        "whatsapp:+60123456789",
        "WhatsApp:+60 123456789",
        "tel:+60-12-345-6789",
        "０１２３４５６７８９",
        "٠١٢٣٤٥٦٧٨٩",
        "+60\u200b123456789",
        "+60\ufe0f12-345 6789",
        "\u202a+60 12-345 6789\u202c",
        "+60\xa012\xa0345\xa06789",
        "0123456789.0",
        '="0123456789"',
        "'0123456789",
        "0123456789 ext 5",
        "012.345.6789",
    ],
)
def test_each_spelling_is_the_same_person(text: str) -> None:
    assert e164(text) == "+60123456789"


@pytest.mark.parametrize("text", ["+5215512345678", "005215512345678", "+52 55 1234 5678"])
def test_e03_the_old_mexican_one_is_dropped(text: str) -> None:
    assert e164(text) == "+525512345678"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "phone_blank"),
        (" \u200b", "phone_blank"),
        ("6.01200E+10", "phone_scientific"),
        ("6,012E+10", "phone_scientific"),
        ("68849", "phone_short_code"),
        ("2345678", "phone_impossible"),
        ("012345678901234", "phone_impossible"),
        ("012-345 6789 / 013-555 1234", "phone_several"),
        ("0123456789 (mum)", "phone_letters"),
        ("n/a", "phone_letters"),
        ("=cmd|'/C calc'!A0", "phone_letters"),
    ],
)
def test_what_is_not_one_number_is_refused_with_its_reason(text: str, reason: str) -> None:
    result = normalise_phone(text, default_country="MY")
    assert (result.e164, result.reason) == (None, reason)


def test_a_landline_is_kept_with_a_warning() -> None:
    result = normalise_phone("03-0000 1011", default_country="MY")
    assert result.e164 == "+60300001011"
    assert "not_mobile" in result.warnings


def test_unassigned_is_a_warning_only() -> None:
    result = normalise_phone("+60170001009", default_country="MY")
    assert (result.e164, result.warnings) == ("+60170001009", ("phone_not_valid",))


def test_another_country_without_its_plus_is_read_with_a_warning() -> None:
    result = normalise_phone("447911123456", default_country="MY")
    assert (result.e164, result.warnings) == ("+447911123456", ("phone_plus_assumed",))


@given(st.text(max_size=80))
def test_any_text_gives_a_number_or_a_reason(text: str) -> None:
    result = normalise_phone(text, default_country="MY")
    assert (result.e164 is None) == (result.reason is not None)


@given(st.text(alphabet="+0123456789 ()-.", min_size=6, max_size=20))
def test_normalising_a_normal_number_changes_nothing(text: str) -> None:
    first = e164(text)
    if first is not None:
        assert e164(first) == first
