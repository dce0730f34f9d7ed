"""Phone numbers as identities: what people and spreadsheets write becomes E.164 or a reason."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumber, PhoneNumberFormat, ValidationResult

from app.kernel.text import without_invisible

PHONE_BLANK: Final = "phone_blank"
PHONE_SCIENTIFIC: Final = "phone_scientific"
PHONE_SHORT_CODE: Final = "phone_short_code"
PHONE_IMPOSSIBLE: Final = "phone_impossible"
PHONE_SEVERAL: Final = "phone_several"
PHONE_LETTERS: Final = "phone_letters"

NOT_MOBILE: Final = "not_mobile"
PHONE_NOT_VALID: Final = "phone_not_valid"
PHONE_PLUS_ASSUMED: Final = "phone_plus_assumed"

_MAX_CHARS: Final = 60
_SHORT_CODE_DIGITS: Final = 6
_SCHEME = re.compile(r"^(?:tel|sms|whatsapp)\s*:\s*", re.IGNORECASE)
_FORMULA_TEXT = re.compile(r'^=?\s*"([^"]*)"$')
_SCIENTIFIC = re.compile(r"^[+-]?\d+(?:[.,]\d*)?\s*e\s*[+-]?\d+$", re.IGNORECASE)
_DECIMAL_TAIL = re.compile(r"^(\+?\d{7,})[.,]0{1,2}$")
_EXTENSION = re.compile(r"[\s,;]*(?:ext(?:ension)?|samb(?:ungan)?|x)\.?\s*:?\s*\d{1,6}$", re.IGNORECASE)
# Mexico dropped the 1 after +52 in 2019; WhatsApp accounts still carry it.
_OLD_MEXICAN_MOBILE = re.compile(r"^\+521(\d{10})$")
_SEVERAL = re.compile(r"\s*(?:[/;,&|]|\bor\b|\batau\b|或)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PhoneResult:
    """`e164` or None with a `reason`; `warnings` are codes and never stand in the way."""

    e164: str | None
    warnings: tuple[str, ...] = ()
    reason: str | None = None


def normalise_phone(text: str, *, default_country: str) -> PhoneResult:
    """Return the E.164 number that the text means, read from `default_country` (ISO 3166, as "MY").

    A number counts when its length is possible in its country, with the area code (a number that can only
    be dialled next door is none); whether it is assigned is a warning. Digits that a spreadsheet has lost
    (scientific notation) and cells with two numbers are refused, never guessed; short codes are no people.
    """
    plain = _without_spreadsheet_dress(_plain_digits(text))
    if not plain:
        return PhoneResult(e164=None, reason=PHONE_BLANK)
    if _SCIENTIFIC.match(plain):
        return PhoneResult(e164=None, reason=PHONE_SCIENTIFIC)
    number, reason, assumed = _read(plain, default_country=default_country)
    if number is None:
        return PhoneResult(e164=None, reason=reason)
    e164 = phonenumbers.format_number(number, PhoneNumberFormat.E164)
    return PhoneResult(e164=e164, warnings=assumed + _warnings(number, e164))


def _plain_digits(text: str) -> str:
    plain = without_invisible(text[: _MAX_CHARS * 4])
    if plain.isascii():
        return plain
    return "".join(str(unicodedata.decimal(c, c)) for c in plain)


def _without_spreadsheet_dress(text: str) -> str:
    text = _SCHEME.sub("", text.lstrip("'").strip())
    if quoted := _FORMULA_TEXT.match(text):
        text = quoted[1].strip()
    if tail := _DECIMAL_TAIL.match(text):
        text = tail[1]
    return text.lstrip("'").strip()


def _read(text: str, *, default_country: str) -> tuple[PhoneNumber | None, str, tuple[str, ...]]:
    without_extension = _EXTENSION.sub("", text)
    if any(c.isalpha() for c in _SEVERAL.sub("", without_extension)):
        return None, PHONE_LETTERS, ()
    digits = re.sub(r"\D", "", without_extension)
    if 0 < len(digits) <= _SHORT_CODE_DIGITS:
        return None, PHONE_SHORT_CODE, ()
    if len(text) > _MAX_CHARS:
        return None, PHONE_IMPOSSIBLE, ()
    if _holds_several(without_extension, default_country=default_country):
        return None, PHONE_SEVERAL, ()
    dialled = _dialled(digits, has_plus=_has_plus(without_extension))
    if (number := _possible(dialled, default_country)) is not None:
        return number, "", ()
    number = None if dialled.startswith("+") else _possible(f"+{digits}", default_country)
    if number is not None and phonenumbers.is_valid_number(number):
        # Too long for a national number: another country's, written without its plus. Only when assigned.
        return number, "", (PHONE_PLUS_ASSUMED,)
    return None, PHONE_IMPOSSIBLE, ()


def _dialled(digits: str, *, has_plus: bool) -> str:
    if has_plus:
        digits = f"+{digits}"
    elif digits.startswith("00"):
        digits = f"+{digits.lstrip('0')}"
    return _OLD_MEXICAN_MOBILE.sub(r"+52\1", digits) if has_plus or digits.startswith("+") else digits


def _has_plus(text: str) -> bool:
    return text.lstrip(" (").startswith("+")


def _holds_several(text: str, *, default_country: str) -> bool:
    parts = [part for part in _SEVERAL.split(text) if part]
    return len(parts) > 1 and all(_possible(part, default_country) is not None for part in parts)


def _possible(text: str, default_country: str) -> PhoneNumber | None:
    try:
        number = phonenumbers.parse(text, default_country)
    except NumberParseException:
        return None
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        return None
    return number


def _warnings(number: PhoneNumber, e164: str) -> tuple[str, ...]:
    warnings: list[str] = []
    # Malaysia's mobile numbers begin with 1; elsewhere the prefix alone does not tell.
    if e164.startswith("+60") and not e164.startswith("+601"):
        warnings.append(NOT_MOBILE)
    if not phonenumbers.is_valid_number(number):
        warnings.append(PHONE_NOT_VALID)
    return tuple(warnings)
