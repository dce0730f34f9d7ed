"""From what came of a create call to one of the four outcomes. The rule: certain only with evidence.

| what happened | outcome |
| --- | --- |
| 2xx with a message id | Accepted |
| 2xx with a body that cannot be read or has no id | Unknown: it was very likely created |
| no connection (refused, DNS, TLS, connect time-out, no free connection), nothing written yet | NotSent |
| 429, or code 20429 | NotSent: documented as never processed |
| the request could not even be made (text that has no encoding) | Rejected, for a person to look at |
| 4xx with a Twilio code | Rejected, by the error table |
| 401, 403 without a code | Rejected, credentials: refused before anything is done |
| 407 | NotSent: a proxy asked for its own log-in and passed nothing on |
| other 4xx without a code (408, 400 from a load balancer …) | Unknown: not Twilio's own answer |
| 3xx, 5xx, whatever their body says | Unknown |
| time-out, reset or anything else after the request was handed over | Unknown |
"""

from math import isfinite
from typing import Any, Final

from aiohttp import ClientConnectorError, ConnectionTimeoutError
from twilio.base.exceptions import TwilioRestException, TwilioServiceException

from app.messaging.domain.addresses import Address
from app.messaging.domain.error_map import Disposition
from app.messaging.gateways.base import Accepted, NotSent, Rejected, SendResult, Unknown
from app.messaging.gateways.twilio.errors import disposition_for, rule_for
from app.messaging.gateways.twilio.http import Call, GatewayClosedError, RefusedHostError

LONGEST_RETRY_AFTER: Final = 3_600.0
_LOWEST_TWILIO_CODE: Final = 1_000


def accepted_or_unknown(sid: Any, status: Any) -> SendResult:
    """Accepted if the answer names the message."""
    if not isinstance(sid, str) or not sid.strip():
        return Unknown("answer_without_id")
    return Accepted(sid, status.lower() if isinstance(status, str) and status else "accepted")


def outcome_of_error(error: Exception, *, evidence: Call, to: Address) -> SendResult:
    """Class a failed create call. Never guesses towards "not sent"."""
    if isinstance(error, TwilioRestException | TwilioServiceException):
        return _from_answer(error, evidence, to)
    if isinstance(error, RefusedHostError):
        return NotSent("refused_host")
    if isinstance(error, GatewayClosedError):
        return NotSent("gateway_closed")
    if isinstance(error, ConnectionTimeoutError):
        return NotSent("connect_timeout")
    if isinstance(error, ClientConnectorError):
        return NotSent("no_connection")
    if not evidence.handed_over:
        return Rejected(None, f"not_started:{type(error).__name__}", Disposition.REVIEW)
    if isinstance(error, TimeoutError):
        return Unknown("timeout")
    if evidence.status is not None:
        return Unknown(f"unreadable_answer:{evidence.status}")
    return Unknown(f"connection_lost:{type(error).__name__}")


def twilio_code(error: TwilioRestException | TwilioServiceException) -> int | None:
    """Twilio's own code; None where the SDK only repeats the HTTP status, as it does for foreign bodies."""
    try:
        code = int(error.code)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return code if code >= _LOWEST_TWILIO_CODE else None


def _from_answer(
    error: TwilioRestException | TwilioServiceException, evidence: Call, to: Address
) -> SendResult:
    status = evidence.status or error.status
    code = twilio_code(error)
    if status == 429 or (code == 20429 and 400 <= status < 500):
        return NotSent("rate_limited", retry_after_seconds(evidence.retry_after))
    if not 400 <= status < 500:
        return Unknown(f"http_{status}")
    if code is None:
        return _without_code(status)
    disposition = disposition_for(code, to=to)
    if disposition is Disposition.UNKNOWN:
        return Unknown(f"code_{code}")
    rule = rule_for(code)
    wait = rule.delay.total_seconds() if disposition is Disposition.DEFER and rule.delay else None
    return Rejected(code, _message(error), disposition, wait)


def _without_code(status: int) -> SendResult:
    if status in {401, 403}:
        return Rejected(None, f"HTTP {status}", Disposition.CREDS)
    if status == 407:
        return NotSent("proxy_login")
    return Unknown(f"http_{status}_without_code")


def retry_after_seconds(header: str | None) -> float | None:
    """Seconds to wait by a Retry-After header, at most an hour; None when it states no number of seconds."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return min(seconds, LONGEST_RETRY_AFTER) if isfinite(seconds) and seconds >= 0 else None


def _message(error: TwilioRestException | TwilioServiceException) -> str:
    text = error.msg if isinstance(error, TwilioRestException) else (error.detail or error.title)
    return str(text)[:500]
