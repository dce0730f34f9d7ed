"""Twilio's error codes and what we do about each. Meanings: twilio.com/docs/api/errors; actions: ours."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from app.messaging.domain.addresses import Address
from app.messaging.domain.error_map import Disposition, ErrorRule

_D = Disposition
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


def rule_for(code: int | None) -> ErrorRule:
    """The rule of a code. A code we do not know, or none at all, is for a person to look at."""
    if code is None:
        return _NO_CODE
    return RULES.get(code) or ErrorRule(
        code, _D.REVIEW, True, f"Twilio refused this message with a code we do not know ({code})."
    )


def disposition_for(code: int | None, *, to: Address | None = None) -> Disposition:
    """What to do about a code for this recipient."""
    rule = rule_for(code)
    if rule.in_north_america is not None and to is not None and to.is_north_american:
        return rule.in_north_america
    return rule.disposition


def _rules(
    codes: Iterable[int],
    disposition: Disposition,
    permanent: bool,
    advice: str,
    *,
    delay: timedelta | None = None,
    max_tries: int | None = None,
    exhausted: Disposition | None = None,
    pause_after: int | None = None,
    after_repeats: Disposition | None = None,
    in_north_america: Disposition | None = None,
) -> dict[int, ErrorRule]:
    return {
        code: ErrorRule(
            code,
            disposition,
            permanent,
            advice,
            delay=delay,
            max_tries=max_tries,
            exhausted=exhausted,
            pause_after=pause_after,
            after_repeats=after_repeats,
            in_north_america=in_north_america,
        )
        for code in codes
    }


_NO_CODE: Final = ErrorRule(None, _D.REVIEW, True, "The message failed and Twilio gave no reason.")

_CREDENTIALS: Final = (
    _rules(
        (20003, 20005, 20006),
        _D.CREDS,
        True,
        "Twilio does not accept our log-in. An administrator must fix it.",
    )
    | _rules(
        (21608,), _D.CREDS, True, "Our Twilio account is on trial and may only write to verified numbers."
    )
    | _rules((30002,), _D.CREDS, True, "Our Twilio account is suspended.")
    | _rules(
        (63001, 63008, 63020, 63022, 63051),
        _D.CREDS,
        True,
        "WhatsApp does not accept our business account at the moment. An administrator must look at it.",
    )
    | _rules(
        (63062,), _D.CREDS, True, "The terms for WhatsApp marketing messages have not been accepted yet."
    )
)

_UNCERTAIN: Final = _rules(
    (20500, 20503), _D.UNKNOWN, False, "Twilio had a fault; we are finding out whether the message went out."
)

_LATER: Final = (
    _rules(
        (20429,), _D.DEFER, False, "Twilio asked us to slow down; the message goes out later.", delay=_MINUTE
    )
    | _rules(
        (21611, 30001),
        _D.DEFER,
        False,
        "The sender's queue is full; the message goes out later.",
        delay=_MINUTE * 10,
    )
    | _rules(
        (30003, 30017),
        _D.DEFER,
        False,
        "The phone could not be reached. We try again later.",
        delay=_MINUTE * 60,
        max_tries=3,
        exhausted=_D.SKIP,
    )
    | _rules(
        (30008,),
        _D.DEFER,
        False,
        "The phone company did not deliver the message and gave no reason. We try once more.",
        delay=_MINUTE * 30,
        max_tries=1,
        exhausted=_D.SKIP,
    )
    | _rules((30022, 30023), _D.DEFER, False, "The daily limit of the phone company is reached.", delay=_DAY)
    | _rules(
        (30410,),
        _D.DEFER,
        False,
        "The provider did not answer in time. We try again later.",
        delay=_MINUTE * 30,
        max_tries=2,
        exhausted=_D.REVIEW,
    )
    | _rules(
        (63009, 63010, 63011, 63012, 63023),
        _D.DEFER,
        False,
        "WhatsApp had a fault while delivering the message. We try again later.",
        delay=_MINUTE * 30,
        max_tries=2,
        exhausted=_D.REVIEW,
    )
    | _rules(
        (63017, 63018, 63038),
        _D.DEFER,
        False,
        "Our WhatsApp number has reached its limit; the message goes out later.",
        delay=_MINUTE * 60,
    )
    | _rules(
        (63019,),
        _D.DEFER,
        False,
        "WhatsApp could not fetch the attached file. We try once more.",
        delay=_MINUTE * 5,
        max_tries=1,
        exhausted=_D.REVIEW,
    )
    | _rules(
        (63049,),
        _D.DEFER,
        False,
        "WhatsApp did not deliver this marketing message; it limits how many each person gets. "
        "We wait at least a day before another try.",
        delay=_DAY,
        max_tries=3,
        exhausted=_D.SKIP,
        in_north_america=_D.SKIP,
    )
)

_RECIPIENT: Final = (
    _rules((21211, 21614), _D.MARK_BAD_ADDRESS, True, "This is not a mobile number that can get messages.")
    | _rules((30005, 30006), _D.MARK_BAD_ADDRESS, True, "This number does not exist or is a landline.")
    | _rules((21408,), _D.SKIP, True, "Messages to this country are not enabled in our Twilio account.")
    | _rules(
        (21610,),
        _D.SUPPRESS,
        True,
        "This person has opted out with the provider. We do not write to them here.",
    )
    | _rules((30004,), _D.SKIP, True, "The phone company blocked the message.", after_repeats=_D.SUPPRESS)
    | _rules((63003, 63024), _D.UNREACHABLE, True, "This person cannot be reached on WhatsApp.")
    | _rules((63014, 63033), _D.SUPPRESS, True, "This person has blocked us on WhatsApp.")
    | _rules((63015,), _D.SKIP, True, "This person has not joined the WhatsApp test set-up.")
    | _rules((63029,), _D.SKIP, True, "The person's WhatsApp could not show this template.")
    | _rules((63031,), _D.SKIP, True, "Sender and recipient are the same number.")
    | _rules(
        (63032,), _D.SKIP, True, "WhatsApp keeps this person in an experiment without marketing messages."
    )
)

_CONTENT: Final = (
    _rules((20404,), _D.REVIEW, True, "Twilio does not know what we referred to.")
    | _rules(
        (
            *(21602, 21604, 21617, 21619, 21620, 21623, 21654, 21655, 21656, 21658),
            *(63005, 63006, 63013, 63021, 63027, 63028, 63030),
        ),
        _D.REVIEW,
        True,
        "The content or its variables were not accepted. Someone must correct the message.",
        pause_after=3,
    )
    | _rules((21609,), _D.REVIEW, True, "Our address for delivery reports is wrong in the settings.")
    | _rules((35111, 35114, 35115, 35117, 35118), _D.REVIEW, True, "The time of sending was not accepted.")
    | _rules((63034, 63037), _D.REVIEW, True, "The attached file is too large or could not be uploaded.")
    | _rules(
        (63016,),
        _D.TEMPLATE,
        True,
        "This person last wrote more than 24 hours ago: only an approved template can be sent now.",
    )
)

_SENDER: Final = (
    _rules(
        (21212, 21603, 21606, 21701, 21703, 21705, 63002, 63007),
        _D.PAUSE,
        True,
        "The sender is not set up for this kind of message. An administrator must look at it.",
    )
    | _rules(
        (30018, 30024, 30032, 30034),
        _D.PAUSE,
        True,
        "The sender's registration with the phone companies is missing or incomplete.",
    )
    | _rules((30007,), _D.REVIEW, True, "The phone company filtered the message as spam.", pause_after=3)
    | _rules((30450,), _D.PAUSE, True, "Twilio's fraud guard blocked messages to this range of numbers.")
    | _rules(
        (63026,),
        _D.PAUSE_MARKETING,
        True,
        "WhatsApp has marked our number as sending spam. All marketing stops.",
    )
    | _rules((63040, 63042), _D.PAUSE, True, "WhatsApp has rejected or disabled this template.")
    | _rules(
        (63041,),
        _D.PAUSE,
        True,
        "WhatsApp has paused this template; it can be used again when approved again.",
    )
)

# Debugger codes about our own webhook; they never come with a message.
_OURS: Final = _rules((11200, 11205), _D.REVIEW, True, "Twilio could not deliver a report to us.")

RULES: Final[dict[int, ErrorRule]] = (
    _CREDENTIALS | _UNCERTAIN | _LATER | _RECIPIENT | _CONTENT | _SENDER | _OURS
)
