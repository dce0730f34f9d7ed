"""Faults as data: what goes wrong with a request or with the callbacks of a message."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import msgspec

from app.simulator.addresses import phone_of


class _Fault(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """Base: in JSON each fault says its `kind`."""


class RefuseBefore(_Fault, frozen=True, tag="refuse_before"):
    """The connection ends before anything is stored."""

    reset: bool = False


class Error(_Fault, frozen=True, tag="error"):
    """Refused with an error code; nothing is stored."""

    code: int
    status: int = 400
    message: str | None = None
    retry_after: int | None = None


class DieAfterAccept(_Fault, frozen=True, tag="die_after_accept"):
    """Stored and delivered, but the connection ends without an answer (closed, or reset)."""

    reset: bool = False


class TimeOut(_Fault, frozen=True, tag="time_out"):
    """The answer comes after `seconds`; the message is stored before that, after it, or never."""

    seconds: float
    stored: Literal["before", "after", "never"] = "before"


class ErrorAfterAccept(_Fault, frozen=True, tag="http_500_stored"):
    """Stored and delivered, but answered with a server error."""

    status: int = 500


class TooManyRequests(_Fault, frozen=True, tag="http_429"):
    """Refused by rate: nothing is stored."""

    retry_after: int | None = 1


class Lose(_Fault, frozen=True, tag="lose"):
    """Callbacks with these statuses never arrive; none named = all."""

    statuses: tuple[str, ...] = ()


class Duplicate(_Fault, frozen=True, tag="duplicate"):
    """Each callback arrives `copies` times, at the same moment."""

    copies: int = 2


class Reorder(_Fault, frozen=True, tag="reorder"):
    """Callbacks of the message arrive in a shuffled order, together."""


class Delay(_Fault, frozen=True, tag="delay"):
    """Each callback arrives later."""

    ms: int


class LateFailure(_Fault, frozen=True, tag="late_failure"):
    """Accepted, and reported as failed later."""

    code: int
    after: Literal["accepted", "sent", "delivered"] = "sent"
    status: Literal["failed", "undelivered"] = "undelivered"


class NeverDelivered(_Fault, frozen=True, tag="never_delivered"):
    """The message stays `sent` for ever."""


RequestFault = RefuseBefore | Error | DieAfterAccept | TimeOut | ErrorAfterAccept | TooManyRequests
CallbackFault = Lose | Duplicate | Reorder | Delay | LateFailure | NeverDelivered
Fault = RequestFault | CallbackFault
T = TypeVar("T")
EVERY_STATUS = ("*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackScript:
    """What happens to the callbacks of one message: all callback faults that hit it, together."""

    lose: tuple[str, ...] = ()
    copies: int = 1
    reorder: bool = False
    delay_ms: int = 0
    failure: LateFailure | None = None
    never_delivered: bool = False

    def with_fault(self, fault: CallbackFault) -> CallbackScript:
        """Return the script with one more fault in it."""
        match fault:
            case Lose(statuses=statuses):
                return replace(self, lose=self.lose + (statuses or EVERY_STATUS))
            case Duplicate(copies=copies):
                return replace(self, copies=max(self.copies, copies))
            case Reorder():
                return replace(self, reorder=True)
            case Delay(ms=ms):
                return replace(self, delay_ms=self.delay_ms + ms)
            case LateFailure():
                return replace(self, failure=fault)
            case NeverDelivered():
                return replace(self, never_delivered=True)

    def loses(self, status: str) -> bool:
        """Tell whether the callback with this status is lost."""
        return status in self.lose or EVERY_STATUS[0] in self.lose


class FaultRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fault and the messages that it hits: the next `times` that match (None = every one), each with a
    probability.
    """

    fault: Fault
    to: str | None = None
    content_sid: str | None = None
    times: int | None = 1
    probability: float = 1.0
    rule_id: str = ""

    def matches(self, *, to: str, content_sid: str | None) -> bool:
        """Tell whether a message to this address is meant. The rule may leave the channel out of its `to`."""
        if self.to is not None and self.to != to and self.to != phone_of(to):
            return False
        return self.content_sid is None or self.content_sid == content_sid


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the rules say about one message."""

    request: RequestFault | None
    script: CallbackScript
    spent: bool
    """True when a rule with a limit was used, so that the rules are to be stored again."""


class FaultBook:
    """The rules in force, oldest first. Chance comes from a seeded generator: a run can be repeated."""

    def __init__(self, *, seed: int) -> None:
        self._rules: list[FaultRule] = []
        self._random = random.Random(seed)  # noqa: S311 -- chance of a simulation
        self._made = 0

    def reseed(self, seed: int) -> None:
        """Start the chances over."""
        self._random.seed(seed)

    def add(self, rule: FaultRule) -> FaultRule:
        """Put a rule in force; returns it with its id."""
        self._made += 1
        known = msgspec.structs.replace(rule, rule_id=rule.rule_id or f"rule-{self._made}")
        self._rules.append(known)
        return known

    def remove(self, rule_id: str | None = None) -> None:
        """Take one rule, or all, out of force."""
        self._rules = [] if rule_id is None else [rule for rule in self._rules if rule.rule_id != rule_id]

    def rules(self) -> tuple[FaultRule, ...]:
        """Return the rules in force."""
        return tuple(self._rules)

    def draw(self, *, to: str, content_sid: str | None) -> Verdict:
        """Decide about one message: the first request fault and all callback faults that hit it. Spends the
        rules used.
        """
        request: RequestFault | None = None
        script = CallbackScript()
        spent = False
        for rule in tuple(self._rules):
            if isinstance(rule.fault, RequestFault) and request is not None:
                continue
            if not rule.matches(to=to, content_sid=content_sid) or not self._hits(rule):
                continue
            spent |= self._spend(rule)
            if isinstance(rule.fault, RequestFault):
                request = rule.fault
            else:
                script = script.with_fault(rule.fault)
        return Verdict(request=request, script=script, spent=spent)

    def shuffled(self, items: list[T]) -> list[T]:
        """Return the items in an order by chance, never the given one when there are two or more."""
        order = list(items)
        while len(items) > 1 and order == items:
            self._random.shuffle(order)
        return order

    def _hits(self, rule: FaultRule) -> bool:
        return rule.probability >= 1 or self._random.random() < rule.probability

    def _spend(self, rule: FaultRule) -> bool:
        if rule.times is None:
            return False
        place = self._rules.index(rule)
        if rule.times <= 1:
            del self._rules[place]
        else:
            self._rules[place] = msgspec.structs.replace(rule, times=rule.times - 1)
        return True
