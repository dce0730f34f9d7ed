"""The provider's refusals: error codes with the status and the words it answers with."""

from __future__ import annotations


class Refusal(Exception):
    """A request that the provider does not carry out; nothing was stored."""

    def __init__(self, code: int, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    def body(self) -> dict[str, object]:
        """Return the JSON body that the provider answers with."""
        return error_body(code=self.code, message=self.message, status=self.status)


def error_body(*, code: int, message: str, status: int) -> dict[str, object]:
    """Return the provider's JSON error."""
    more_info = f"https://www.twilio.com/docs/errors/{code}"
    return {"code": code, "message": message, "more_info": more_info, "status": status}


MESSAGES = {
    20003: "Authenticate",
    20404: "The requested resource was not found",
    20429: "Too Many Requests",
    20500: "An internal server error has occurred",
    20503: "Service is unavailable. Please try again.",
    21610: "Attempt to send to unsubscribed recipient",
    21611: "This 'From' number has exceeded the maximum number of queued messages",
    21656: "The Content Variables parameter is invalid.",
    30003: "Unreachable destination handset",
    30005: "Unknown destination handset",
    30006: "Landline or unreachable carrier",
    30007: "Message filtered",
    30008: "Unknown error",
    63003: "Channel could not find To address",
    63016: "Failed to send freeform message because you are outside the allowed window. "
    "If you are using WhatsApp, please use a Message Template.",
    63018: "Rate limit exceeded for Channel",
    63024: "Invalid message recipient",
    63049: "Meta chose not to deliver this WhatsApp marketing message",
}


def message_of(code: int) -> str:
    """Return the provider's words for a code, or plain ones for a code not listed."""
    return MESSAGES.get(code, f"Error {code}")


def not_authenticated() -> Refusal:
    """Return the refusal of a request without the account's credentials."""
    return Refusal(20003, MESSAGES[20003], status=401)


def not_found(path: str) -> Refusal:
    """Return the refusal of a request for something that does not exist."""
    return Refusal(20404, f"The requested resource {path} was not found", status=404)
