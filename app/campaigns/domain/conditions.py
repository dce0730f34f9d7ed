"""Conditions over recorded facts: what a marketer may ask, how it is read from a definition, and the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.kernel.errors import Invalid

OUTCOMES = ("sent", "skipped", "failed", "read", "clicked", "replied")
_PREFIXES = ("contact.attributes.", "consent.", "crm.")
_PLAIN = ("contact.language", "contact.time_zone", "contact.source")
DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Is:
    """The fact has one of these values."""

    fact: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The fact is a number in [least, most]; None leaves a side open."""

    fact: str
    least: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Known:
    """The fact has a value at all."""

    fact: str


@dataclass(frozen=True, slots=True)
class Every:
    """Every test holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one test holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The test does not hold."""

    test: Test


Test = Is | Within | Known | Every | Some | Not


def holds(test: Test, values: Mapping[str, Any]) -> bool:
    """Say whether a test holds; a fact that nobody knows equals nothing and lies in no range."""
    match test:
        case Is(fact, wanted):
            return any(_same(values.get(fact), value) for value in wanted)
        case Within(fact, least, most):
            number = _number(values.get(fact))
            return (
                number is not None and (least is None or number >= least) and (most is None or number <= most)
            )
        case Known(fact):
            return values.get(fact) not in (None, "")
        case Every(tests):
            return all(holds(t, values) for t in tests)
        case Some(tests):
            return any(holds(t, values) for t in tests)
        case Not(inner):
            return not holds(inner, values)


def facts_in(test: Test) -> tuple[str, ...]:
    """Return the names of the facts that a test looks at, each once, in order."""
    match test:
        case Is(fact, _) | Known(fact) | Within(fact, _, _):
            return (fact,)
        case Every(tests) | Some(tests):
            return tuple(dict.fromkeys(name for t in tests for name in facts_in(t)))
        case Not(inner):
            return facts_in(inner)


def read_test(where: str, given: Any, depth: int = 0) -> Test:
    """Read a test from a definition. Raises `Invalid` that says where and what is wrong."""
    if not isinstance(given, Mapping) or depth > DEEPEST:
        raise Invalid(f'{where}: `if` is an object such as {{"fact": "consent.sms", "is": true}}.')
    for word, kind in (("all", Every), ("any", Some)):
        if word in given:
            parts = given[word]
            if not isinstance(parts, list) or not parts:
                raise Invalid(f"{where}: `{word}` is a list of tests.")
            return kind(tuple(read_test(where, part, depth + 1) for part in parts))
    if "not" in given:
        return Not(read_test(where, given["not"], depth + 1))
    fact = _fact(where, given.get("fact"))
    if "is" in given:
        return Is(fact, _values(where, [given["is"]]))
    if "in" in given:
        return Is(fact, _values(where, given["in"]))
    if "at_least" in given or "at_most" in given:
        return Within(fact, _bound(where, given.get("at_least")), _bound(where, given.get("at_most")))
    if given.get("known") is True:
        return Known(fact)
    raise Invalid(f"{where}: a test says `is`, `in`, `at_least`, `at_most` or `known`.")


def step_of(fact: str) -> str | None:
    """Return the key of the step whose outcome a fact is; None for another fact."""
    if fact.startswith("step.") and fact.endswith(".outcome"):
        return fact.removeprefix("step.").removesuffix(".outcome")
    return None


def _fact(where: str, given: Any) -> str:
    known = isinstance(given, str) and (
        given in _PLAIN
        or bool(step_of(given))
        or any(given.startswith(p) and len(given) > len(p) for p in _PREFIXES)
    )
    if not known:
        raise Invalid(
            f"{where}: `{given}` is no fact; facts are step.KEY.outcome, {', '.join(_PLAIN)}, "
            f"{', '.join(p + 'NAME' for p in _PREFIXES)}."
        )
    return str(given)


def _values(where: str, given: Any) -> tuple[Any, ...]:
    if (
        not isinstance(given, list)
        or not given
        or not all(isinstance(v, str | int | float | bool) for v in given)
    ):
        raise Invalid(f"{where}: a fact is compared with a text, a number, or true or false.")
    return tuple(given)


def _bound(where: str, given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise Invalid(f"{where}: `at_least` and `at_most` are numbers.")
    return float(given)


def _same(known: Any, wanted: Any) -> bool:
    """Attributes come from lists as text: `7` is 7 and `Yes` is yes; but 1 is not true."""
    if known is None or isinstance(known, bool) != isinstance(wanted, bool):
        return False
    return str(known).strip().casefold() == str(wanted).strip().casefold()


def _number(known: Any) -> float | None:
    if isinstance(known, bool) or known is None:
        return None
    try:
        return float(str(known).strip())
    except ValueError:
        return None
