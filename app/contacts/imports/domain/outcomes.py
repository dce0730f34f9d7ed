"""What becomes of the rows of a file: new people, second touches, rejected rows, conflicts."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from app.contacts.imports.domain.rows import LeadRow

IDENTITIES_OF_TWO_PEOPLE: Final = "identities_of_two_people"
PHONE_ADDED: Final = "phone_added"
EMAIL_ADDED: Final = "email_added"

_ADDED: Final = {"phone": PHONE_ADDED, "email": EMAIL_ADDED}


class Outcome(StrEnum):
    """What became of a row. `unchanged` is a row of a file that was imported before: it is not read again."""

    CREATED = "created"
    MERGED = "merged"
    REJECTED = "rejected"
    CONFLICT = "conflict"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """A way to recognise a person: kind is `phone`, `email` or `external`."""

    kind: str
    value: str


@dataclass(frozen=True, slots=True, order=True)
class Person:
    """The person a row is about: a stored contact, or one who begins with a row of this file."""

    contact_id: int | None = None
    first_row: int | None = None


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """One row's outcome. `person` is None when rejected; in a conflict `people` are those it would mix up."""

    lead: LeadRow
    outcome: Outcome
    person: Person | None = None
    people: tuple[Person, ...] = ()
    new_identities: tuple[Identity, ...] = ()
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def identities_of(lead: LeadRow) -> tuple[Identity, ...]:
    """Return the identities a row brings, in the order in which they count."""
    values = (("phone", lead.phone), ("email", lead.email), ("external", lead.external_id))
    return tuple(Identity(kind, value) for kind, value in values if value is not None)


def resolve(leads: Iterable[LeadRow], *, known: MutableMapping[Identity, Person]) -> list[RowOutcome]:
    """Return the outcome of each row in order, adding to `known` the identities that rows bring.

    The first row of a person creates, later ones with any of the person's identities are second touches;
    identities of two different people in one row are never merged, they are listed for review. The same rows
    with the same `known` give the same outcomes, however the file is cut into chunks.
    """
    return [_resolve_one(lead, known) for lead in leads]


def standing_consents(outcomes: Iterable[RowOutcome]) -> dict[tuple[Person, str], bool]:
    """Return what the rows say in the end per person and channel: a `no` wins over any `yes`."""
    said: dict[tuple[Person, str], bool] = {}
    for outcome in outcomes:
        if outcome.person is None:
            continue
        for channel, granted in outcome.lead.consents.items():
            said[outcome.person, channel] = said.get((outcome.person, channel), True) and granted
    return said


def in_chunks(leads: Iterable[LeadRow], *, size: int) -> Iterator[list[LeadRow]]:
    """Yield lists of at most `size` rows; only one of them is in memory at a time."""
    source = iter(leads)
    while chunk := list(islice(source, size)):
        yield chunk


def stored_people(found: Mapping[Identity, int]) -> dict[Identity, Person]:
    """Return contacts that were looked up as people that `resolve` knows."""
    return {identity: Person(contact_id=contact_id) for identity, contact_id in found.items()}


def identities_in(leads: Sequence[LeadRow]) -> list[Identity]:
    """Return each identity of the rows once, sorted: what to look up (and in which order to lock)."""
    return sorted({identity for lead in leads if lead.reason is None for identity in identities_of(lead)})


def _resolve_one(lead: LeadRow, known: MutableMapping[Identity, Person]) -> RowOutcome:
    if lead.reason is not None:
        return RowOutcome(lead=lead, outcome=Outcome.REJECTED, reason=lead.reason, warnings=lead.warnings)
    identities = identities_of(lead)
    people = tuple(dict.fromkeys(known[identity] for identity in identities if identity in known))
    if len(people) > 1:
        return RowOutcome(
            lead=lead,
            outcome=Outcome.CONFLICT,
            people=people,
            reason=IDENTITIES_OF_TWO_PEOPLE,
            warnings=lead.warnings,
        )
    person = people[0] if people else Person(first_row=lead.row)
    added = tuple(identity for identity in identities if identity not in known)
    known.update(dict.fromkeys(added, person))
    outcome = RowOutcome(
        lead=lead,
        outcome=Outcome.MERGED if people else Outcome.CREATED,
        person=person,
        new_identities=added,
        warnings=lead.warnings,
    )
    return outcome if not people else replace(outcome, warnings=lead.warnings + _warn_of(added))


def _warn_of(added: Iterable[Identity]) -> tuple[str, ...]:
    """Warn when a person who was recognised by one identity gets another: it may be a relative's."""
    return tuple(_ADDED[identity.kind] for identity in added if identity.kind in _ADDED)
