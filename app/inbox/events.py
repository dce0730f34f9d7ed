"""What happened in the inbox, for reactions in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdviserMessageSent:
    """A person wrote to the lead: a journey that is still active pauses. The message is queued, not yet out.

    The transaction holds the locks of the contact, its conversation and its live enrolment.
    """

    contact_id: int
    user_id: int
    send_id: int
