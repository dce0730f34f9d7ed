"""A messaging provider in the explorer's hands: it knows what it really took, and what it has told us of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from app.db.pausing import pause
from app.messaging.domain.error_map import Disposition
from app.messaging.gateways.base import (
    Accepted,
    CannotTell,
    FindResult,
    Found,
    Listing,
    ListResult,
    NoSuchMessage,
    NotFound,
    NotSent,
    OutMessage,
    Rejected,
    SendResult,
    SentQuery,
    StatusResult,
    Unknown,
)

FAILS_LATER = 0.12
_STATUS_CODES = (30008, 63016, 63024, 30003)


@dataclass(slots=True)
class Taken:
    """A message that the provider took. `failed`: it will never arrive, and the provider says so."""

    sid: str
    attempt_id: str
    to: str
    content: str
    failed: bool
    reports: list[tuple[str, int | None]] = field(default_factory=list)
    """What it has to tell us about it, in its order: status and error code."""


@dataclass(slots=True)
class Provider:
    """A provider that may refuse, fall silent after taking a message, or before. Implements the gateway's port."""

    random: Random
    calm: bool = False
    """Without faults: for the end of a history."""
    prefix: str = "0"
    taken: list[Taken] = field(default_factory=list)

    async def send(self, message: OutMessage, *, deadline: float) -> SendResult:
        """Take a message, or not, and say so, or not."""
        await pause("call.before")
        luck = 0.0 if self.calm else self.random.random()
        if luck > 0.96:
            return NotSent("rate", self.random.choice([None, 5.0, 30.0]))
        if luck > 0.93:
            return Rejected(
                63024, "refused", self.random.choice([Disposition.SKIP, Disposition.MARK_BAD_ADDRESS])
            )
        if luck > 0.90:
            await pause("call.after")
            return Unknown("timeout")
        taken = self._take(message)
        await pause("call.after")
        return Unknown("timeout") if luck > 0.84 else Accepted(taken.sid, "accepted")

    async def find_sent(self, query: SentQuery, *, deadline: float) -> FindResult:
        """Find the one message to this address that nothing explains yet."""
        await pause("look_up")
        if not self.calm and self.random.random() < 0.2:
            return CannotTell("no answer")
        fits = [t for t in self.taken if t.to == query.to.wire and t.sid not in query.known_provider_ids]
        if len(fits) != 1:
            return CannotTell("more than one") if fits else NotFound(complete=True)
        return Found(fits[0].sid, "accepted", query.body or "", query.created_from)

    async def fetch_status(self, provider_message_id: str, *, deadline: float) -> StatusResult:
        """Nobody asks in a history."""
        return NoSuchMessage()

    async def list_messages(
        self,
        *,
        created_from: datetime,
        created_to: datetime,
        deadline: float,
    ) -> ListResult:
        """Nobody asks in a history."""
        return Listing((), complete=True)

    async def aclose(self) -> None:
        """Nothing is open."""

    def took(self, attempts: Sequence[str]) -> str | None:
        """Return the id of a message of one of these attempts, if it was taken and will arrive."""
        return next((t.sid for t in self.taken if t.attempt_id in attempts and not t.failed), None)

    def _take(self, message: OutMessage) -> Taken:
        failed = not self.calm and self.random.random() < FAILS_LATER
        taken = Taken(
            sid=f"SM{self.prefix}{len(self.taken):08x}".ljust(34, "0"),
            attempt_id=message.attempt_id,
            to=message.to.wire,
            content=message.template.content_sid if message.template else str(message.body),
            failed=failed,
            reports=[("sent", None), *_last_words(self.random, failed)],
        )
        self.taken.append(taken)
        return taken


def _last_words(random: Random, failed: bool) -> list[tuple[str, int | None]]:
    if failed:
        return [(random.choice(["undelivered", "failed"]), random.choice(_STATUS_CODES))]
    return [("delivered", None), ("read", None)] if random.random() < 0.7 else [("delivered", None)]
