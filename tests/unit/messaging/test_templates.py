import pytest

from app.messaging.domain.addresses import Channel
from app.messaging.domain.rendering import cut, fits
from app.messaging.domain.templates import (
    FilledVariables,
    HeldVariable,
    TemplateFault,
    ValueFault,
    clean_value,
    fill_variables,
    find_placeholders,
    render,
    required_variables,
    validate_template,
)

BODY = "Hi {{1}}, see {{ 2 }} today."


def faults(body: str, **more: object) -> set[TemplateFault]:
    return {p.fault for p in validate_template(body=body, **more)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("Hello\nline two", "Hello line two"),
        ("a\tb", "a b"),
        ("a\r\nb", "a b"),
        ("a\u2028b", "a b"),
        ("a      b", "a b"),
        ("     ", ""),
        (" ", ""),
        (" Aisyah ", "Aisyah"),
        ("Ali\u202egnp", "Aligpn"[:3] + "gnp"),
    ],
)
def test_G05_a_value_is_flattened_before_it_is_sent(value: str, clean: str) -> None:
    assert clean_value(value) == clean


@pytest.mark.parametrize("value", ["", None, "   ", "\u200b", "\u200b\ufeff ", "\u3164", "\u2800", "\n"])
def test_G07_an_empty_value_takes_the_declared_fallback(value: str | None) -> None:
    filled = fill_variables(body="Hi {{1}}, hello.", values={"1": value}, fallbacks={"1": "there"})
    assert filled == FilledVariables({"1": "there"}, ("1",))


@pytest.mark.parametrize("value", ["", None, "\u200b"])
def test_G07_without_a_fallback_the_lead_is_held(value: str | None) -> None:
    held = fill_variables(body="Hi {{1}}, hello.", values={"1": value}, fallbacks={})
    assert held == HeldVariable("1", ValueFault.EMPTY)


def test_G07_a_dash_is_a_value() -> None:
    assert fill_variables(body="Hi {{1}}.", values={"1": "-"}, fallbacks={}) == FilledVariables({"1": "-"})


def test_G09_a_variable_only_in_a_button_address_is_required() -> None:
    url = "https://x.example/{{1}}"
    assert required_variables(body="Book now.", button_urls=[url]) == ("1",)
    held = fill_variables(body="Book now.", button_urls=[url], values={}, fallbacks={})
    assert held == HeldVariable("1", ValueFault.EMPTY)
    assert render(url, {"1": "b7"}) == "https://x.example/b7"
    assert faults("Book now.", button_urls=[url]) == set()
    assert TemplateFault.BUTTON_NOT_AT_END in faults("Book.", button_urls=["https://x.example/{{1}}/end"])


def test_G11_named_and_numbered_placeholders_are_both_found() -> None:
    text = "Hi {{first_name}}, see {{1}} and {{ 1 }} and {{ 2 }} now"
    assert find_placeholders(text) == ("first_name", "1", "2")


@pytest.mark.parametrize(
    "piece", ["{{1}", "{1}}", "{{}}", "{{first name}}", "{{{1}}}", "{1}", "}}", "{{1", "{{0}}"]
)
def test_G11_malformed_braces_are_refused_when_the_template_is_saved(piece: str) -> None:
    assert TemplateFault.MALFORMED in faults(f"Hi {piece} there.")


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("{{1}}, welcome.", TemplateFault.STARTS_WITH_PLACEHOLDER),
        ("Welcome {{1}}", TemplateFault.ENDS_WITH_PLACEHOLDER),
        ("Hi {{1}} {{2}} there.", TemplateFault.ADJACENT),
        ("Hi {{1}}{{2}} there.", TemplateFault.ADJACENT),
        ("Hi {{1}} and {{3}}.", TemplateFault.OUT_OF_SEQUENCE),
        ("Hi {{2}}.", TemplateFault.OUT_OF_SEQUENCE),
        ("Hi {{a_name_of_17_signs}}.", TemplateFault.KEY_TOO_LONG),
        ("a" * 1_025, TemplateFault.TOO_LONG),
        ("  ", TemplateFault.EMPTY_BODY),
    ],
)
def test_a_broken_provider_rule_is_named(body: str, fault: TemplateFault) -> None:
    assert fault in faults(body)


def test_a_good_template_has_no_faults() -> None:
    assert faults(BODY) == set()
    assert faults("Salam {{1}}, temujanji anda pada {{2}}. Sila sahkan.") == set()


def test_rendering_is_one_pass_and_shows_what_is_missing() -> None:
    assert render(BODY, {"1": "{{2}}", "2": "us"}) == "Hi {{2}}, see us today."
    assert render(BODY, {"1": r"\1 \g<0>"}) == r"Hi \1 \g<0>, see {{ 2 }} today."


def test_V05_length_is_checked_after_substitution() -> None:
    long_value = fill_variables(body="Hi {{1}}.", values={"1": "x" * 2_000}, fallbacks={})
    assert long_value == HeldVariable("1", ValueFault.TOO_LONG)
    long_text = fill_variables(body="a" * 900 + " {{1}}.", values={"1": "x" * 200}, fallbacks={})
    assert long_text == HeldVariable("", ValueFault.TEXT_TOO_LONG)
    assert not fits("x" * 5_000, channel=Channel.WHATSAPP)
    assert not fits(" \n", channel=Channel.SMS)
    assert fits("x" * 1_600, channel=Channel.SMS)
    assert not fits("😀" * 801, channel=Channel.WHATSAPP)


@pytest.mark.parametrize("sign", ["🇲🇾", "👩🏽‍🏫", "👨‍👩‍👧‍👦", "e\u0301", "நி"])
def test_V05_a_cut_never_splits_a_character(sign: str) -> None:
    text = sign * 40
    for longest in range(1, 60):
        shown = cut(text, longest=longest)
        assert len(shown) <= longest
        assert shown == text or shown.removesuffix("…") == sign * ((len(shown) - 1) // len(sign))


def test_V05_a_short_text_is_not_touched() -> None:
    assert cut("Hi 🇲🇾", longest=5) == "Hi 🇲🇾"
    assert cut("abcdef", longest=4) == "abc…"
