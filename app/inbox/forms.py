"""What the composer's forms send: fields by name, variables as `variable.<name>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.inbox.domain.content import Draft, FreeText, TemplatePick
from app.kernel.errors import Invalid

VARIABLE = "variable."
LONGEST_FIELD = 20_000
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class MessageForm:
    """One message as it was sent from the composer; `text` comes back to it after a refusal."""

    client_id: str
    conversation_version: int
    draft: Draft

    @property
    def text(self) -> str:
        """Return what was written freely; nothing for a template."""
        return self.draft.text if isinstance(self.draft, FreeText) else ""


def message_form(fields: Mapping[str, object]) -> MessageForm:
    """Read the form of a message. Raises `Invalid` for one that is not complete."""
    template = _text(fields, "template_id")
    return MessageForm(
        client_id=_text(fields, "client_id"),
        conversation_version=_number(fields, "conversation_version"),
        draft=TemplatePick(_number(fields, "template_id"), _variables(fields))
        if template
        else FreeText(_text(fields, "text")),
    )


def seen_version(fields: Mapping[str, object]) -> int:
    """Return the version of the thread that somebody saw. Raises `Invalid`."""
    return _number(fields, "conversation_version")


def _variables(fields: Mapping[str, object]) -> dict[str, str]:
    return {name.removeprefix(VARIABLE): _text(fields, name) for name in fields if name.startswith(VARIABLE)}


def _number(fields: Mapping[str, object], name: str) -> int:
    text = _text(fields, name)
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) <= _LARGEST_ID):
        raise Invalid("This form is not complete. Reload the page and send again.", field=name)
    return int(text)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name, "")
    return value[:LONGEST_FIELD] if isinstance(value, str) else ""
