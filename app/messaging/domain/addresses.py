"""Where a message goes to or comes from: channel, kind of address and value."""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum


class Channel(StrEnum):
    WHATSAPP = "whatsapp"
    SMS = "sms"


class AddressKind(StrEnum):
    PHONE = "phone"
    """E.164 with its plus sign."""
    BSUID = "bsuid"
    """WhatsApp's business-scoped user id, `CC.xxx` or `CC.ENT.xxx`: a person without a visible number."""
    SHORT_CODE = "short_code"
    """A carrier's short number. It can write to us; it is no lead and is never answered."""


@dataclass(frozen=True, slots=True)
class Address:
    """One place on one channel. Equality is by value, so spellings of one address compare equal."""

    channel: Channel
    kind: AddressKind
    value: str

    @property
    def wire(self) -> str:
        """The spelling that Twilio uses: `whatsapp:+60…`, `whatsapp:MY.…`, `+60…`, `68849`."""
        return f"whatsapp:{self.value}" if self.channel is Channel.WHATSAPP else self.value

    @property
    def is_north_american(self) -> bool:
        """Whether the number starts with +1, where WhatsApp delivers no marketing messages."""
        return self.kind is AddressKind.PHONE and self.value.startswith("+1")


def parse_address(spelling: str) -> Address | None:
    """Read an address in any of the providers' spellings; `None` for what is no address.

    Case of the channel prefix, spaces, dots in numbers, hyphens, brackets and invisible characters do not
    matter. Digits without a plus sign are a number when there are nine or more of them, a short code on SMS
    when there are three to eight. The text is never guessed at beyond that: no country is added.
    """
    text = _visible(spelling)
    prefix, colon, rest = text.partition(":")
    if not colon:
        return _sms(text)
    channel = prefix.casefold()
    if channel == Channel.WHATSAPP:
        return _whatsapp(rest)
    if channel == Channel.SMS:
        return _sms(rest)
    return None


def _whatsapp(text: str) -> Address | None:
    number = _phone(text)
    if number is not None:
        return Address(Channel.WHATSAPP, AddressKind.PHONE, number)
    found = _BSUID.fullmatch(text)
    if found is None:
        return None
    country, enterprise, rest = found.group("country", "enterprise", "id")
    value = f"{country.upper()}.{'ENT.' if enterprise else ''}{rest}"
    return Address(Channel.WHATSAPP, AddressKind.BSUID, value)


def _sms(text: str) -> Address | None:
    number = _phone(text)
    if number is not None:
        return Address(Channel.SMS, AddressKind.PHONE, number)
    if _SHORT_CODE.fullmatch(text):
        return Address(Channel.SMS, AddressKind.SHORT_CODE, text)
    return None


def _phone(text: str) -> str | None:
    digits = _PUNCTUATION.sub("", text)
    if _PHONE.fullmatch(digits):
        return digits
    return f"+{digits}" if _BARE_NUMBER.fullmatch(digits) else None


def _visible(text: str) -> str:
    kept = (c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in _INVISIBLE)
    return "".join(c for c in kept if not c.isspace())


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Mn"})
_PUNCTUATION = re.compile(r"[-().]")
# The published form allows any 1 to 15 digits after the plus sign.
_PHONE = re.compile(r"\+[0-9]{1,15}")
_BARE_NUMBER = re.compile(r"[0-9]{9,15}")
_SHORT_CODE = re.compile(r"[0-9]{3,8}")
_BSUID = re.compile(r"(?P<country>[A-Za-z]{2})\.(?P<enterprise>(?i:ENT)\.)?(?P<id>[A-Za-z0-9]{1,128})")
