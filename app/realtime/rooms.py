"""Topics: what can be watched, and who may. Topic = Socket.IO room = DOM event name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.kernel.roles import Role

MAX_TOPICS = 40
"""A page watches a handful; more is a mistake or mischief."""

_TOPIC = re.compile(r"(?P<kind>[a-z_]{1,20})(?::(?P<key>[A-Za-z0-9_+-]{1,40}))?")

_ADVISING = (Role.ADVISER, Role.MANAGER)
_EVERYBODY = tuple(Role)

GENERAL: dict[str, tuple[Role, ...]] = {
    "pool": _ADVISING,
    "inbox": _ADVISING,
    "team": (Role.MANAGER,),
    "clock": _EVERYBODY,
}
"""Topics without a key, and the roles that may watch them."""

KEYED: dict[str, tuple[Role, ...]] = {
    "conversation": _ADVISING,
    "lead": _ADVISING,
    "import": (Role.MANAGER, Role.MARKETER, Role.ADVISER),
    "sim": _EVERYBODY,
}
"""Topics of one thing (`kind:key`), and the roles that may watch them. `user:{id}` is everybody's own
only.
"""


@dataclass(frozen=True, slots=True)
class Topic:
    """A well-formed topic. `key` is empty for general ones."""

    kind: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.key}" if self.key else self.kind


def parse_topic(text: object) -> Topic | None:
    """Return the topic that `text` names, or None where it names none."""
    match = _TOPIC.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    topic = Topic(match["kind"], match["key"] or "")
    known = topic.kind in GENERAL if not topic.key else topic.kind == "user" or topic.kind in KEYED
    return topic if known else None


def may_watch(topic: Topic, *, user_id: int, role: Role) -> bool:
    """Say whether this person may hear of changes to the topic. Asked anew at each `watch`."""
    if topic.kind == "user":
        return topic.key == str(user_id)
    return role.is_one_of(*(KEYED if topic.key else GENERAL)[topic.kind])
