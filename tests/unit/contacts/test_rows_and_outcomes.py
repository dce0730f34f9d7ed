"""Values of a row and the outcomes of rows among each other."""

import pytest

from app.contacts.imports.domain.mapping import propose_mapping
from app.contacts.imports.domain.outcomes import Identity, Outcome, Person, resolve, standing_consents
from app.contacts.imports.domain.rows import LeadRow, RowReader
from app.contacts.imports.domain.sniffing import records, sniff


def rows_of(text: str) -> list[LeadRow]:
    content = text.encode()
    sheet = sniff(content)
    reader = RowReader(mapping=propose_mapping(sheet.header), default_country="MY")
    return [reader.read(record) for record in records(content, sheet=sheet)]


@pytest.mark.parametrize(
    "cell", ["'+60123456789", '"=""0123456789"""', "0123456789", "60123456789.0", "123456789", "0123456789 "]
)
def test_o05_text_safe_forms_of_a_number_become_the_same_lead(cell: str) -> None:
    assert [row.phone for row in rows_of(f"phone,name\n{cell},Ana\n")] == ["+60123456789"]


def test_o05_lost_digits_are_refused_by_row_and_never_guessed() -> None:
    (row,) = rows_of("phone,name\n6.01234568E+10,Ana\n")
    assert (row.phone, row.reason) == (None, "phone_scientific")


def test_first_and_last_name_are_one_name() -> None:
    (row,) = rows_of("first name,last name,phone\nAna,Tan,0123456789\n")
    assert row.name == "Ana Tan"


def test_unknown_columns_are_kept_and_blanks_are_not_stored() -> None:
    (row,) = rows_of("phone,Child Age,area\n0123456789,7,\n")
    assert row.attributes == {"child_age": "7"}


def test_a_blank_consent_says_nothing_and_a_strange_word_is_no_consent() -> None:
    blank, strange = rows_of("phone,consent whatsapp\n0123456789,\n0123456788,STOP\n")
    assert blank.consents == {}
    assert strange.consents == {"whatsapp": False}
    assert strange.warnings == ("consent_not_understood",)


@pytest.mark.parametrize("words", [("yes", "no"), ("no", "yes"), ("no", ""), ("yes", "STOP")])
def test_a_no_wins_over_a_yes_of_the_same_file(words: tuple[str, str]) -> None:
    text = "phone,consent whatsapp\n" + "".join(f"0123456789,{word}\n" for word in words)
    outcomes = resolve(rows_of(text), known={})
    assert standing_consents(outcomes) == {(Person(first_row=1), "whatsapp"): False}


def test_stored_people_are_recognised_by_any_identity() -> None:
    known = {Identity("email", "ana@example.my"): Person(contact_id=7)}
    (outcome,) = resolve(rows_of("phone,email\n0123456789,ANA@example.my\n"), known=known)
    assert (outcome.outcome, outcome.person) == (Outcome.MERGED, Person(contact_id=7))
    assert outcome.new_identities == (Identity("phone", "+60123456789"),)
    assert "phone_added" in outcome.warnings
    assert known[Identity("phone", "+60123456789")] == Person(contact_id=7)


def test_an_external_id_of_another_person_is_a_conflict() -> None:
    known = {
        Identity("phone", "+60123456789"): Person(contact_id=1),
        Identity("external", "L7"): Person(contact_id=2),
    }
    (outcome,) = resolve(rows_of("phone,external_id\n0123456789,L7\n"), known=known)
    assert (outcome.outcome, outcome.people) == (
        Outcome.CONFLICT,
        (Person(contact_id=1), Person(contact_id=2)),
    )


def test_a_chain_of_touches_is_one_person() -> None:
    text = "phone,email\n0123456789,\n0123456789,ana@example.my\n,ANA@example.my\n"
    assert [o.person for o in resolve(rows_of(text), known={})] == [Person(first_row=1)] * 3
