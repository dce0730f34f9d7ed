"""Compiled campaign versions. They never change, so a process may keep those it has seen."""

from __future__ import annotations

from collections.abc import Iterable

from app.campaigns.domain.compiling import compile_definition
from app.campaigns.domain.definition import CompiledVersion
from app.db.session import UnitOfWork

_SEEN: dict[tuple[int, int], CompiledVersion] = {}
_MOST_KEPT = 500


async def load_versions(uow: UnitOfWork, ids: Iterable[int]) -> dict[int, CompiledVersion]:
    """Return the compiled versions by id. Raises KeyError where one does not exist."""
    wanted = set(ids)
    database = hash(uow.connection.engine.url.render_as_string())
    missing = [id_ for id_ in wanted if (database, id_) not in _SEEN]
    if missing:
        if len(_SEEN) > _MOST_KEPT:
            _SEEN.clear()
            missing = list(wanted)
        rows = await uow.execute(
            "SELECT id, campaign_id, number, definition FROM campaign_versions WHERE id = ANY(CAST(:ids AS bigint[]))",
            {"ids": missing},
        )
        for row in rows:
            _SEEN[database, row.id] = compile_definition(
                row.definition, version_id=row.id, campaign_id=row.campaign_id, number=row.number
            )
    return {id_: _SEEN[database, id_] for id_ in wanted}
