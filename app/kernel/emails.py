"""E-mail addresses as identities: syntax only, one spelling per mailbox."""

import re
from dataclasses import dataclass
from typing import Final

from email_validator import EmailNotValidError, validate_email

from app.kernel.text import without_invisible

EMAIL_BLANK: Final = "email_blank"
INVALID_EMAIL: Final = "invalid_email"

_SURELY_SHORT: Final = 200
# Nearly every address is this plain; the library, fifty times slower, decides about all others.
_PLAIN = re.compile(
    r"(?=.{1,64}@)[a-z0-9]+(?:[._+-][a-z0-9]+)*@(?:[a-z0-9]{1,63}\.)+(?:com|my|sg|net|org)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class EmailResult:
    """`address` is what mail is sent to, `identity` what people are matched by; both None with a reason."""

    address: str | None
    identity: str | None
    reason: str | None = None


def normalise_email(text: str) -> EmailResult:
    """Return the address (domain casefolded) and its identity (all casefolded). No look-up is made.

    RFC 5321 lets the part before the @ differ by case, no real mailbox does; so people are matched
    without regard to case and still written to as they spelled it.
    """
    plain = without_invisible(text)
    if plain.casefold().startswith("mailto:"):
        plain = plain[len("mailto:") :].strip()
    if not plain:
        return EmailResult(address=None, identity=None, reason=EMAIL_BLANK)
    if len(plain) < _SURELY_SHORT and _PLAIN.fullmatch(plain):
        local_part, _, domain = plain.partition("@")
        return _result(local_part, domain.casefold())
    try:
        # `globally_deliverable` would refuse reserved domains, which the demo and the tests live in.
        parsed = validate_email(plain, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        return EmailResult(address=None, identity=None, reason=INVALID_EMAIL)
    domain = parsed.domain.casefold()
    if "." not in domain or domain.startswith("["):
        return EmailResult(address=None, identity=None, reason=INVALID_EMAIL)
    return _result(parsed.local_part, domain)


def _result(local_part: str, domain: str) -> EmailResult:
    address = f"{local_part}@{domain}"
    return EmailResult(address=address, identity=address.casefold())
