"""Reads for screens: loads (the number routing uses), counts beside tabs, whom a lead can be given to."""

from __future__ import annotations

from dataclasses import dataclass

from app.advisers.load import load_sql
from app.db.session import UnitOfWork


@dataclass(frozen=True, slots=True)
class AdviserLoad:
    """An adviser's own switch and load; `load` = handoffs not closed, as routing counts them."""

    is_taking: bool
    load: int
    capacity: int


async def adviser_load(uow: UnitOfWork, *, user_id: int) -> AdviserLoad | None:
    """Return the load of an adviser; None for people without a seat."""
    rows = await uow.execute(
        "SELECT p.taking_leads AS is_taking, p.capacity, "
        f"    {load_sql('p.user_id')} AS load "
        "FROM adviser_profiles p WHERE p.user_id = :id AND p.state <> 'left'",
        {"id": user_id},
    )
    row = rows.mappings().one_or_none()
    return AdviserLoad(**row) if row else None


@dataclass(frozen=True, slots=True)
class AdviserOption:
    """Somebody a lead can be given to. Not ready people are listed, so that nobody wonders where they are."""

    user_id: int
    name: str
    state: str
    is_taking: bool
    load: int
    capacity: int
    languages: tuple[str, ...]

    @property
    def is_ready(self) -> bool:
        """Say whether a manager may give this adviser a lead."""
        return self.state == "ready"


async def advisers_for_assignment(uow: UnitOfWork, *, team: str = "main") -> list[AdviserOption]:
    """Return a team's advisers who have not left: those who are ready first, then by load, then by name."""
    rows = await uow.execute(
        "SELECT p.user_id, u.name, p.state, p.taking_leads, p.capacity, p.languages, "
        f"    {load_sql('p.user_id')} AS load "
        "FROM adviser_profiles p JOIN users u ON u.id = p.user_id "
        "WHERE p.team = :team AND p.state <> 'left' AND u.active "
        "ORDER BY p.state <> 'ready', load, u.name, p.user_id",
        {"team": team},
    )
    return [
        AdviserOption(
            user_id=row.user_id,
            name=row.name,
            state=row.state,
            is_taking=row.taking_leads,
            load=row.load,
            capacity=row.capacity,
            languages=tuple(row.languages),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class HandoffOwner:
    """Whose a handoff is, for permission; `owner_id` is None in the pool."""

    contact_id: int
    owner_id: int | None


async def handoff_owner(uow: UnitOfWork, *, handoff_id: int) -> HandoffOwner | None:
    """Return whose a handoff is; None where there is none."""
    rows = await uow.execute("SELECT contact_id, owner_id FROM handoffs WHERE id = :id", {"id": handoff_id})
    row = rows.mappings().one_or_none()
    return HandoffOwner(**row) if row else None
