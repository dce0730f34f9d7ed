"""What stands around every page: the numbers in the navigation, and an adviser's own switch and load."""

from __future__ import annotations

from collections.abc import Mapping

from app.advisers.queries import adviser_load
from app.clock import Clock
from app.db.session import UnitOfWork
from app.kernel.roles import Role
from app.queue.queries import queue_size
from app.web.viewer import Viewer
from app.web.views import Availability

# A message that nobody has read has an open handoff: that is what a human message does.
_COUNTS = """
SELECT
    (SELECT count(*) FROM handoffs h JOIN conversations t ON t.contact_id = h.contact_id AND t.unread > 0
     WHERE h.status <> 'closed' AND (:sees_team OR h.owner_id = :user_id OR h.owner_id IS NULL)) AS inbox,
    (SELECT count(*) FROM runs r WHERE r.kind = 'import' AND r.status IN ('waiting', 'running', 'needs_review'))
        AS imports
"""


class WorkspaceShell:
    """The counts are those of the pages they lead to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def counts(self, uow: UnitOfWork, *, viewer: Viewer) -> Mapping[str, int]:
        """Return leads in the queue, conversations with something new, imports under way."""
        sees_team = viewer.is_one_of(Role.MANAGER)
        row = (await uow.execute(_COUNTS, {"user_id": viewer.user_id, "sees_team": sees_team})).one()
        counts: dict[str, int] = {"import": row.imports}
        if viewer.is_one_of(Role.ADVISER, Role.MANAGER):
            counts["queue"] = await queue_size(uow, viewer=viewer, now=self._clock.now())
            counts["inbox"] = row.inbox
        return counts

    async def availability(self, uow: UnitOfWork, *, viewer: Viewer) -> Availability | None:
        """Return the adviser's switch and load; None for people without a seat."""
        load = await adviser_load(uow, user_id=viewer.user_id)
        return Availability(load.is_taking, load.load, load.capacity) if load else None
