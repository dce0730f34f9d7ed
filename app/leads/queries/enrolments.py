"""One enrolment as the commands on it need it: whose lead it is, and where a resume leads."""

from __future__ import annotations

from dataclasses import dataclass

from app.db.session import UnitOfWork
from app.inbox.queries.listing import display_name
from app.kernel.errors import NotFound
from app.kernel.row_ids import is_row_id

_SEEN = """
SELECT e.id, e.contact_id, e.stage, c.name,
    CASE WHEN h.id IS NULL THEN c.owner_id ELSE h.owner_id END AS owner_id, h.id AS handoff_id,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone' ORDER BY i.id LIMIT 1)
        AS phone
FROM enrolments e
JOIN contacts c ON c.id = e.contact_id
LEFT JOIN handoffs h ON h.contact_id = e.contact_id AND h.status <> 'closed'
WHERE e.id = :id
"""


@dataclass(frozen=True, slots=True)
class SeenEnrolment:
    """`owner_id` is who has the lead; None where nobody does.

    `came_from_conversation`: a person talks (or talked) with the lead, so a resume puts back where it left off.
    """

    contact_id: int
    lead_name: str
    owner_id: int | None
    came_from_conversation: bool


async def load_enrolment(uow: UnitOfWork, *, enrolment_id: int) -> SeenEnrolment:
    """Return an enrolment. Raises `NotFound`."""
    known = is_row_id(enrolment_id)
    row = (await uow.execute(_SEEN, {"id": enrolment_id})).one_or_none() if known else None
    if row is None:
        raise NotFound("There is no such journey.")
    talks = row.handoff_id is not None or row.stage == "engaged"
    return SeenEnrolment(row.contact_id, display_name(row.name, row.phone), row.owner_id, talks)
