import pytest

from app.messaging.domain.addresses import Address, AddressKind, Channel, parse_address

WHATSAPP, SMS = Channel.WHATSAPP, Channel.SMS
PHONE, BSUID, SHORT = AddressKind.PHONE, AddressKind.BSUID, AddressKind.SHORT_CODE


@pytest.mark.parametrize(
    "spelling",
    [
        "whatsapp:+60123456789",
        "WhatsApp:+60 123456789",
        " whatsapp: +60 12-345 6789 ",
        "whatsapp: 60123456789",
        "WHATSAPP:+60\u200b123456789",
        "whatsapp:+６０123456789",
    ],
)
def test_E11_spellings_of_one_whatsapp_number_are_one_address(spelling: str) -> None:
    assert parse_address(spelling) == Address(WHATSAPP, PHONE, "+60123456789")


def test_sms_numbers_have_no_prefix_on_the_wire() -> None:
    address = parse_address("+60123456789")
    assert address == Address(SMS, PHONE, "+60123456789")
    assert address.wire == "+60123456789"
    assert parse_address("60123456789") == address


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("whatsapp:MY.13491208655302741918", "MY.13491208655302741918"),
        ("WhatsApp:my.abC1", "MY.abC1"),
        ("whatsapp:US.ENT.a1", "US.ENT.a1"),
        ("whatsapp:US.ent.a1", "US.ENT.a1"),
        ("whatsapp:MY." + "a" * 128, "MY." + "a" * 128),
    ],
)
def test_E15_a_person_without_a_number_is_addressed_by_user_id(spelling: str, value: str) -> None:
    address = parse_address(spelling)
    assert address == Address(WHATSAPP, BSUID, value)
    assert address.wire == f"whatsapp:{value}"


def test_E09_a_short_code_is_an_address_but_no_phone() -> None:
    assert parse_address("68849") == Address(SMS, SHORT, "68849")
    assert parse_address("whatsapp:68849") is None


@pytest.mark.parametrize(
    "text",
    ["", " ", "whatsapp:", "messenger:123456789", "whatsapp:MY.", "whatsapp:MYS.abc", "whatsapp:MY.a_b"]
    + [
        "+",
        "+1234567890123456",
        "12",
        "whatsapp:MY." + "a" * 129,
        "+60abc",
        "\ud83d",
        "whatsapp:whatsapp:+60123",
    ],
)
def test_what_is_no_address_is_none_and_never_raises(text: str) -> None:
    assert parse_address(text) is None


def test_only_plus_one_is_north_american() -> None:
    american, malaysian = parse_address("whatsapp:+14155550100"), parse_address("whatsapp:+60123456789")
    assert american is not None
    assert malaysian is not None
    assert american.is_north_american
    assert not malaysian.is_north_american
