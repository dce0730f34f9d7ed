"""What the rows of one batch say together about each person, ready to be written."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from app.contacts.imports.domain.outcomes import Outcome, Person, RowOutcome
from app.contacts.imports.domain.rows import LeadRow


@dataclass(slots=True)
class Details:
    """Values of one person. The first row that says something wins; later rows fill what is blank."""

    name: str | None = None
    language: str | None = None
    time_zone: str | None = None
    source: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)

    def add(self, lead: LeadRow) -> None:
        """Take what the row knows and these details do not."""
        self.name = self.name or lead.name
        self.language = self.language or lead.language
        self.time_zone = self.time_zone or lead.time_zone
        self.source = self.source or lead.source
        for key, value in lead.attributes.items():
            self.attributes.setdefault(key, value)


def details_of(outcomes: Iterable[RowOutcome]) -> dict[Person, Details]:
    """Return the details of everybody whom the outcomes create or touch, in the order of the rows."""
    details: dict[Person, Details] = {}
    for outcome in outcomes:
        if outcome.person is not None and outcome.outcome in {Outcome.CREATED, Outcome.MERGED}:
            details.setdefault(outcome.person, Details()).add(outcome.lead)
    return details
