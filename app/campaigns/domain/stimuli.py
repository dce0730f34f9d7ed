"""What can move an enrolment, each with the facts it brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from app.advisers.domain.sla import DEFAULT_CALENDAR
from app.campaigns.domain.schedule import Visit
from app.campaigns.domain.vocabulary import Outcome, Stim
from app.kernel.working_calendar import WorkingCalendar


@dataclass(frozen=True, slots=True)
class Position:
    """Where a send belongs; it moves the enrolment only while the enrolment still stands there."""

    path: str
    step: str
    lap: int
    generation: int


@dataclass(frozen=True, slots=True)
class Due:
    """The timer of the enrolment is due."""

    stim: ClassVar[Stim] = Stim.DUE


@dataclass(frozen=True, slots=True)
class SendAccepted:
    """The provider has the message. Finish, callback, look-up and reviewer all come through this door."""

    position: Position
    send_id: int
    attempt_id: str
    via: str
    already_counted: bool = False  # a later word about the same send: rank only
    started_at: datetime | None = None  # when the attempt began: what the person did since then answers it
    stim: ClassVar[Stim] = Stim.SEND_ACCEPTED


@dataclass(frozen=True, slots=True)
class SendSkipped:
    """The step cannot be sent and the flow goes on."""

    position: Position
    send_id: int | None
    reason: str
    type: str = "skipped"  # or `failed`, where the provider refused it for good
    data: Mapping[str, Any] = field(default_factory=dict)
    stim: ClassVar[Stim] = Stim.SEND_SKIPPED


@dataclass(frozen=True, slots=True)
class SendDeferred:
    """The step waits until `until` for a stated reason; with `sender_id` its next channel takes over."""

    position: Position
    send_id: int
    reason: str
    until: datetime
    sender_id: int | None = None
    stim: ClassVar[Stim] = Stim.SEND_DEFERRED


@dataclass(frozen=True, slots=True)
class HumanSignal:
    """A person did something. Replies and calls open a handoff; notes and an adviser's own words only pause."""

    cause: str
    type: str = "replied"
    opens_handoff: bool = True
    handoff_reason: str = "replied"
    inbound: bool = True
    stim: ClassVar[Stim] = Stim.HUMAN_SIGNAL


@dataclass(frozen=True, slots=True)
class DoubtfulOptOut:
    """A word that may mean stop: a person decides, the machine says nothing more."""

    cause: str
    word: str
    stim: ClassVar[Stim] = Stim.DOUBTFUL_OPT_OUT


@dataclass(frozen=True, slots=True)
class OptedOut:
    """A STOP-class word closes all channels; a block at the provider closes that one."""

    cause: str
    channel: str
    reason: str
    stim: ClassVar[Stim] = Stim.OPTED_OUT


@dataclass(frozen=True, slots=True)
class Complained:
    """The person reported us as unwanted: all marketing is over."""

    cause: str
    stim: ClassVar[Stim] = Stim.COMPLAINED


@dataclass(frozen=True, slots=True)
class ChannelLost:
    """A hard bounce or a dead address: the channel is closed; without another one the journey ends."""

    cause: str
    channel: str
    reason: str
    usable_left: tuple[str, ...]
    stim: ClassVar[Stim] = Stim.CHANNEL_LOST


@dataclass(frozen=True, slots=True)
class AutoReplied:
    """An out-of-office answer: wait until the stated date."""

    cause: str
    resume_at: datetime
    stim: ClassVar[Stim] = Stim.AUTO_REPLIED


@dataclass(frozen=True, slots=True)
class ResumeDue:
    """The date after which automation wakes by itself has come."""

    stim: ClassVar[Stim] = Stim.RESUME_DUE


@dataclass(frozen=True, slots=True)
class FailedLater:
    """The provider accepted the message and then reported that it failed; `again`: the send is tried once more."""

    send_id: int
    step: str
    code: str | None
    path: str | None = None
    again: bool = False
    stim: ClassVar[Stim] = Stim.FAILED_LATER


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's command: pause, resume, hold or release, with a reason."""

    stim: Stim
    actor: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AdviserResumed:
    """The owner hands the lead back to the machine."""

    actor: str
    stim: ClassVar[Stim] = Stim.ADVISER_RESUMED


@dataclass(frozen=True, slots=True)
class Closed:
    """A person ends the journey: won, lost or not now (until a date)."""

    actor: str
    outcome: Outcome
    not_now_until: datetime | None = None
    stim: ClassVar[Stim] = Stim.CLOSED


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """Nobody can tell whether a send went out, or a record does not add up: a person decides."""

    ref: str
    why: str
    stim: ClassVar[Stim] = Stim.INCONCLUSIVE


@dataclass(frozen=True, slots=True)
class ReviewResolved:
    """A person decided about an inconclusive send: `sent`, `again` or `skip`. `ref` is the hold it is about."""

    actor: str
    verdict: str
    position: Position | None
    send_id: int | None
    ref: str | None = None
    stim: ClassVar[Stim] = Stim.REVIEW_RESOLVED


@dataclass(frozen=True, slots=True)
class Merged:
    """The contact became part of another one."""

    actor: str
    survivor_id: int
    stim: ClassVar[Stim] = Stim.MERGED


@dataclass(frozen=True, slots=True)
class Seen:
    """The person did something that a `wait_for` may be waiting for."""

    kind: str
    at: datetime
    cause: str | None = None
    stim: ClassVar[Stim] = Stim.WAIT_FOR_MET


@dataclass(frozen=True, slots=True)
class VersionAdopted:
    """Another version of the same structure takes over; `decide` is given that version."""

    stim: ClassVar[Stim] = Stim.VERSION_ADOPTED


@dataclass(frozen=True, slots=True)
class VersionMoved:
    """A person moves the journey to another version by a mapping of step keys; `decide` is given that version."""

    actor: str
    steps: Mapping[str, str | None]  # old key -> new key; None ends the path
    stim: ClassVar[Stim] = Stim.VERSION_MOVED


@dataclass(frozen=True, slots=True)
class Booked:
    """A visit was booked, by the lead or for them."""

    actor: str
    visit: Visit
    stim: ClassVar[Stim] = Stim.BOOKED


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """The visit has another time."""

    actor: str
    visit: Visit
    stim: ClassVar[Stim] = Stim.RESCHEDULED


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The visit will not take place."""

    actor: str
    stim: ClassVar[Stim] = Stim.CANCELLED


@dataclass(frozen=True, slots=True)
class Attended:
    """The lead came."""

    actor: str
    stim: ClassVar[Stim] = Stim.ATTENDED


@dataclass(frozen=True, slots=True)
class NoShow:
    """The lead did not come."""

    actor: str
    stim: ClassVar[Stim] = Stim.NO_SHOW


@dataclass(frozen=True, slots=True)
class AttendanceCorrected:
    """It was the other way round: a person corrects who came."""

    actor: str
    stim: ClassVar[Stim] = Stim.ATTENDANCE_CORRECTED


Stimulus = (
    Due
    | SendAccepted
    | SendSkipped
    | SendDeferred
    | HumanSignal
    | DoubtfulOptOut
    | OptedOut
    | Complained
    | ChannelLost
    | AutoReplied
    | ResumeDue
    | FailedLater
    | Operator
    | AdviserResumed
    | Closed
    | Inconclusive
    | ReviewResolved
    | Merged
    | Seen
    | VersionAdopted
    | VersionMoved
    | Booked
    | Rescheduled
    | Cancelled
    | Attended
    | NoShow
    | AttendanceCorrected
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What `decide` may know besides state, version and stimulus.

    `zone` is the contact's time zone; `handoff_open`, `owned`: a person has the lead; `answered`: the lead's last
    message has its answer. `last_send_id` is the last accepted campaign send before this stimulus. `sends` maps
    idempotency keys of sends that exist to their (id, status), `tried` to the channels that did not work for them.

    What a version's steps need comes on top: `channels` that reach the person (None: not asked) and the `senders`
    of the campaign by channel; `values` of the facts that conditions name; what was `seen` of the person, oldest
    first; the `visit` that is booked; the organisation's `calendar`. `path_starts` counts the paths begun so far.
    """

    contact_id: int
    zone: str
    handoff_open: bool = False
    owned: bool = False
    answered: bool = False
    last_send_id: int | None = None
    sends: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    channels: frozenset[str] | None = None
    senders: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    seen: tuple[Seen, ...] = ()
    visit: Visit | None = None
    calendar: WorkingCalendar = DEFAULT_CALENDAR
    path_starts: int = 1
