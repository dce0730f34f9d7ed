"""The codes of an import in plain words, with what to do about them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

OUTCOMES: Final[Mapping[str, str]] = {
    "created": "New lead",
    "merged": "Known person, second touch",
    "rejected": "Left out",
    "conflict": "Needs review",
    "unchanged": "Imported before, nothing changed",
}

ENROLMENTS: Final[Mapping[str, str]] = {
    "enrolled": "Enrolled",
    "touched": "Already in the campaign, second touch",
    "before": "Offered to the campaign by an earlier import of this file",
    "repeated": "Enrolled from this row before",
    "suppressed": "Not enrolled: this person does not want messages",
    "no_usable_channel": "Not enrolled: no consent for a channel of this campaign",
    "with_an_adviser": "Not enrolled: in a conversation with one of us now",
    "withdrawn": "Not enrolled: somebody took this row's request back",
}

REASONS: Final[Mapping[str, str]] = {
    "no_identity": "Neither a phone number nor an e-mail address.",
    "invalid_email": "The e-mail address is not written correctly.",
    "phone_scientific": "The spreadsheet has replaced digits of the phone number (as in 6.01E+10). "
    "Format the column as text and type the number again.",
    "phone_impossible": "The phone number has too few or too many digits, or no area code.",
    "phone_short_code": "The phone number is a short code, not a person's number.",
    "phone_several": "The phone cell holds more than one number. Keep one.",
    "phone_letters": "The phone cell holds words. Keep the number alone.",
    "wrong_number_of_cells": "The row has another number of cells than the header.",
    "cell_too_long": "A cell is far too long.",
    "quote_not_closed": "A quotation mark is opened and never closed, so the rows after it run together.",
    "identities_of_two_people": "The phone belongs to one person and the e-mail address (or id) to another. "
    "Nothing was merged; decide whose they are.",
}

WARNINGS: Final[Mapping[str, str]] = {
    "phone_not_valid": "Possible phone number, but not one that is assigned.",
    "not_mobile": "A landline: no WhatsApp or SMS is likely.",
    "phone_plus_assumed": "Read as a number of another country, written without its plus.",
    "phone_added": "Recognised by another identity; this phone number was added to the person.",
    "email_added": "Recognised by another identity; this e-mail address was added to the person.",
    "consent_not_understood": "The word for consent is not known: no consent.",
    "language_unknown": "The language is not known: the default is used.",
    "zone_unknown": "The time zone is not known: the default is used.",
    "nul_removed": "Unreadable characters (NUL) were removed.",
    "surrogates_removed": "Broken characters were removed.",
    "name_cut": "The name was shortened.",
    "name_cleaned": "Marks that would distort the page were removed from the name.",
    "value_cut": "A long value was shortened.",
    "encoding_guessed": "The file is not in UTF-8. It is read as Windows text: check the letters below, "
    "and save as “CSV UTF-8” if they look wrong.",
    "bytes_replaced": "Some bytes are not readable and stand as � below.",
}


def reason_words(code: str | None) -> str:
    """Return the sentence for a reason; an unknown code is shown as it is, never hidden."""
    if code is None:
        return ""
    return REASONS.get(code) or WARNINGS.get(code) or code


def warning_words(code: str) -> str:
    """Return the sentence for a warning, or for a reason where the row has another identity."""
    return WARNINGS.get(code) or REASONS.get(code) or code


def enrolment_words(code: str | None, *, zone: str, campaigns: Mapping[str, str]) -> str:
    """Return what the campaign's door said; dates are those of `zone`, campaigns are named by their key."""
    if code is None:
        return ""
    kind, _, about = code.partition(":")
    match kind:
        case "waiting":
            return f"Waits for their turn: {_busy_words(about, campaigns)}"
        case "live_in":
            return f"Not enrolled: {_busy_words(code, campaigns)}"
        case "in_cooldown_until":
            return f"Not enrolled: in cool-down until {_date(about, zone)}"
        case _:
            return ENROLMENTS.get(code) or code


def _busy_words(code: str, campaigns: Mapping[str, str]) -> str:
    kind, _, about = code.partition(":")
    match kind:
        case "live_in":
            return f"in the campaign {campaigns.get(about, about)} now"
        case "with_an_adviser":
            return "in a conversation with one of us now"
        case "in_cooldown_until":
            return "still in cool-down"
        case _:
            return code.replace("_", " ")


def _date(moment: str, zone: str) -> str:
    try:
        return datetime.fromisoformat(moment).astimezone(ZoneInfo(zone)).date().isoformat()
    except ValueError:
        return moment
