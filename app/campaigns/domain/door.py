"""What the one door into a campaign decides, and why. Pure: the facts are read under the contact's lock before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.campaigns.domain.stimuli import Booked
from app.contacts.domain import Information


class WhenBusy(StrEnum):
    """What becomes of somebody who is in another campaign, or talks with one of us, just now."""

    REFUSE = "refuse"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class EnrolRequest:
    """One wish to enrol. `ref` makes it repeatable: the same ref returns the earlier enrolment, also an ended one.

    `override_reason` is a person's written reason to enrol in spite of a rest or a conversation; whoever calls has
    checked their right. `own_act` says what the lead did themselves (booked a visit): it overrides in the same way.
    `booked` is their visit, where that is what begins the journey. `information` is what came with the wish.
    """

    contact_id: int
    ref: str
    override_reason: str | None = None
    when_busy: WhenBusy = WhenBusy.REFUSE
    own_act: str | None = None
    information: Information | None = None
    booked: Booked | None = None


@dataclass(frozen=True, slots=True)
class EnrolResult:
    """What became of it.

    `enrolled`, `touched` (live in this campaign), `repeated` (same ref), `waiting` (for its turn, with the reason)
    or `refused`.
    """

    ref: str
    contact_id: int
    outcome: str
    enrolment_id: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The earlier request under the same ref: what has become of it."""

    status: str
    enrolment_id: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What the doorkeeper needs to know of one contact."""

    zone: str | None
    generation: int
    same_ref: int | None = None
    asked: Asked | None = None
    waits: bool = False  # a request of this contact for this campaign waits already
    live_id: int | None = None
    live_campaign: str | None = None
    is_live_here: bool = False
    cooldown_until: datetime | None = None
    suppressed: bool = False
    usable: bool = True
    with_a_person: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer at the door. `override` says what let in somebody who should rest or talks with one of us."""

    outcome: str
    reason: str | None = None
    enrolment_id: int | None = None
    override: str | None = None


def judge(request: EnrolRequest, standing: Standing, *, exempt_because: str | None) -> Verdict:
    """Return the answer, by the most telling reason. `exempt_because` is why the campaign minds no cool-downs.

    Nobody is thrown out of a campaign for another one, whatever its priority; a closed channel is opened by nobody
    here. A rest refuses, because it has a date after which a list can ask again; only who waits already waits on.
    """
    earlier = _earlier(standing)
    if earlier is not None:
        return earlier
    if standing.is_live_here:
        return Verdict("touched", enrolment_id=standing.live_id)
    if standing.suppressed:
        return Verdict("refused", "suppressed")
    if not standing.usable:
        return Verdict("refused", "no_usable_channel")
    may_wait = standing.waits or request.when_busy is WhenBusy.WAIT
    if standing.live_id is not None:
        return _wait_or_refuse(may_wait, f"live_in:{standing.live_campaign}")
    override = _override(request)
    rests = standing.cooldown_until is not None
    if standing.cooldown_until is not None and exempt_because is None and override is None:
        return _wait_or_refuse(standing.waits, f"in_cooldown_until:{standing.cooldown_until.isoformat()}")
    if standing.with_a_person and override is None:
        return _wait_or_refuse(
            may_wait, "with_an_adviser"
        )  # the machine does not write over the head of who talks
    if override is None and rests:
        override = f"the campaign is exempt: {exempt_because}"
    return Verdict("enrolled", override=override)


def _earlier(standing: Standing) -> Verdict | None:
    """Return what the same ref was answered before, where that stands for good."""
    if standing.same_ref is not None:
        return Verdict("repeated", enrolment_id=standing.same_ref)
    if standing.asked is not None and standing.asked.status == "admitted":
        return Verdict("repeated", enrolment_id=standing.asked.enrolment_id)
    if standing.asked is not None and standing.asked.status == "withdrawn":
        return Verdict("refused", "withdrawn")
    return None


def _wait_or_refuse(may_wait: bool, reason: str) -> Verdict:
    return Verdict("waiting" if may_wait else "refused", reason)


def _override(request: EnrolRequest) -> str | None:
    if request.own_act:
        return f"their own act: {request.own_act}"
    written = (request.override_reason or "").strip()
    return written or None
