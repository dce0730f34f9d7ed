"""Columns are matched by meaning, and whatever is not certain is left to the person."""

import pytest

from app.contacts.imports.domain.mapping import Target, chosen_mapping, corrected_mapping, propose_mapping
from app.contacts.imports.domain.words import consent_word, language_code, zone_name


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ("Nama / Name", Target.NAME),
        ("姓名", Target.NAME),
        ("fullName", Target.NAME),
        ("First name", Target.FIRST_NAME),
        ("Surname", Target.LAST_NAME),
        ("Mobile No.", Target.PHONE),
        ("No. Telefon", Target.PHONE),
        ("HP", Target.PHONE),
        ("WhatsApp number", Target.PHONE),
        ("手机号码", Target.PHONE),
        ("Contact No", Target.PHONE),
        ("E-mail", Target.EMAIL),
        ("Emel", Target.EMAIL),
        ("电邮地址", Target.EMAIL),
        ("Bahasa", Target.LANGUAGE),
        ("语言", Target.LANGUAGE),
        ("Time Zone", Target.ZONE),
        ("time_zone", Target.ZONE),
        ("Consent WhatsApp?", Target.CONSENT_WHATSAPP),
        ("Persetujuan SMS", Target.CONSENT_SMS),
        ("同意 E-mail", Target.CONSENT_EMAIL),
        ("Consent", Target.ATTRIBUTE),
        ("Child Age", Target.ATTRIBUTE),
        ("Child name", Target.ATTRIBUTE),
        ("Nama anak", Target.ATTRIBUTE),
        ("孩子姓名", Target.ATTRIBUTE),
        ("Phone type", Target.ATTRIBUTE),
        ("external_id", Target.EXTERNAL_ID),
        ("Customer ID", Target.EXTERNAL_ID),
        ("area", Target.ATTRIBUTE),
        ("created_at", Target.ATTRIBUTE),
        ("source", Target.SOURCE),
    ],
)
def test_a_header_is_read_by_its_words(header: str, target: Target) -> None:
    assert propose_mapping([header]).columns[0].target is target


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["phone", "name", "phone"], (0, 2)),
        (["Phone", "PHONE"], (0, 1)),
        (["phone ", "phone"], (0, 1)),
        (["notes", "phone", "Notes"], (0, 2)),
    ],
)
def test_o09_equal_headers_are_for_the_person_to_resolve(header: list[str], columns: tuple[int, ...]) -> None:
    problems = propose_mapping(header).problems
    assert [(p.code, p.columns) for p in problems] == [("headers_clash", columns)]
    assert f"Columns {columns[0] + 1} and {columns[1] + 1}" in problems[0].message


def test_o09_two_columns_of_one_meaning_are_never_chosen_by_position() -> None:
    (problem,) = propose_mapping(["Mobile No.", "Phone"]).problems
    assert (problem.code, problem.columns) == ("target_twice", (0, 1))


def test_o09_the_persons_choice_resolves_the_clash_and_loses_no_column() -> None:
    mapping = chosen_mapping(["phone", "name", "phone"], targets=["phone", "full_name", "attribute"])
    assert mapping.problems == ()
    assert mapping.index_of(Target.PHONE) == 0
    both = chosen_mapping(["a", "phone", "A"], targets=["attribute", "phone", "attribute"])
    assert [c.attribute for c in both.columns] == ["a", "", "a_3"]


def test_a_correction_of_one_column_keeps_the_proposal_for_the_others() -> None:
    proposal = propose_mapping(["phone", "name", "phone"])
    assert corrected_mapping(proposal, corrections={1: "ignore"}).problems[0].code == "headers_clash"
    assert corrected_mapping(proposal, corrections={2: "ignore"}).problems == ()


def test_a_file_without_phone_and_email_needs_a_choice() -> None:
    assert [p.code for p in propose_mapping(["name", "area"]).problems] == ["no_identity"]


@pytest.mark.parametrize("first_line", [["Ana", "012-345 6789"], ["Ana", "ana@example.my"]])
def test_a_file_that_begins_with_a_lead_needs_headers(first_line: list[str]) -> None:
    assert [p.code for p in propose_mapping(first_line).problems] == ["no_header"]


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(ValueError, match="nickname"):
        chosen_mapping(["phone"], targets=["nickname"])


@pytest.mark.parametrize("word", ["Ya", "yes", "TRUE", "是", "1", " y ", "1.0", "同意"])
def test_words_of_consent(word: str) -> None:
    assert consent_word(word) is True


@pytest.mark.parametrize("word", ["tidak", "No", "FALSE", "否", "0", "tak"])
def test_words_of_refusal(word: str) -> None:
    assert consent_word(word) is False


@pytest.mark.parametrize("word", ["STOP", "maybe", "2", "nope?", "yes and no"])
def test_other_words_are_not_understood(word: str) -> None:
    assert consent_word(word) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bahasa", "ms"),
        ("Bahasa Melayu", "ms"),
        ("BM", "ms"),
        ("ms-MY", "ms"),
        ("Bahasa Inggeris", "en"),
        ("EN", "en"),
        ("en_GB", "en"),
        ("中文", "zh"),
        ("华语", "zh"),
        ("Mandarin", "zh"),
        ("zh-Hans", "zh"),
        ("Tamil", "ta"),
        ("தமிழ்", "ta"),
        ("xx", None),
        ("", None),
    ],
)
def test_names_of_languages(text: str, code: str | None) -> None:
    assert language_code(text) == code


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Asia/Kuala_Lumpur", "Asia/Kuala_Lumpur"),
        ("asia/kuala lumpur", "Asia/Kuala_Lumpur"),
        ("KL", "Asia/Kuala_Lumpur"),
        ("Singapore", "Asia/Singapore"),
        ("CST", None),
        ("../etc/passwd", None),
    ],
)
def test_names_of_zones(text: str, zone: str | None) -> None:
    assert zone_name(text) == zone
