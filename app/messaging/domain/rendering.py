"""Text as people see it: lengths and cuts at whole characters, limits of a free message."""

from typing import Final

import regex

from app.messaging.domain.addresses import Channel

LONGEST_BODY: Final = {Channel.WHATSAPP: 1_600, Channel.SMS: 1_600}
"""The API refuses longer bodies as a whole (21617)."""

_CHARACTERS: Final = regex.compile(r"\X")


def cut(text: str, *, longest: int, ending: str = "…") -> str:
    """The text itself if it has at most `longest` code points, else its beginning with `ending`, not longer.

    Cuts only between whole characters as a person sees them: no flag, skin tone, family or accent is split.
    """
    if len(text) <= longest:
        return text
    room = longest - len(ending)
    end = 0
    # A partial window is enough: a character that reaches over the border does not fit anyway.
    for found in _CHARACTERS.finditer(text, 0, min(len(text), longest + 1)):
        if found.end() > room:
            break
        end = found.end()
    return text[:end].rstrip() + ending


def fits(text: str, *, channel: Channel) -> bool:
    """Whether a free message is short enough for one API call, and not blank."""
    return bool(text.strip()) and _utf16_units(text) <= LONGEST_BODY[channel]


def _utf16_units(text: str) -> int:
    """Length as UTF-16 counts it, the stricter of the counts in use: an emoji is two."""
    return len(text) + sum(1 for c in text if c > "\uffff")
