"""How a thread is named in addresses: by its conversation, or by the contact where nobody wrote yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.kernel.errors import NotFound

_KEY: Final = re.compile(r"(?P<by_contact>lead-)?(?P<id>[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """`17` is the conversation 17, `lead-17` the thread of the contact 17, whether it has begun or not."""

    id: int
    is_by_contact: bool

    def __str__(self) -> str:
        return f"lead-{self.id}" if self.is_by_contact else str(self.id)


def parse_key(text: str) -> ThreadKey:
    """Return the key that a part of an address names. Raises `NotFound`."""
    match = _KEY.fullmatch(text)
    if match is None:
        raise NotFound("There is no such conversation.")
    return ThreadKey(int(match["id"]), match["by_contact"] is not None)


def key_for(*, conversation_id: int | None, contact_id: int) -> ThreadKey:
    """Return the key of a contact's thread: its conversation's where there is one."""
    if conversation_id is None:
        return ThreadKey(contact_id, True)
    return ThreadKey(conversation_id, False)
