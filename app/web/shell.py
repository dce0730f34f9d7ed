"""What stands around every signed-in page: places, counts, the person's own switch, the demo clock.

Slices above fill it through two ports; the composition root says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.clock import Clock, DemoClock
from app.db.session import Database, UnitOfWork
from app.kernel.roles import Role
from app.web.viewer import Viewer
from app.web.views import Availability, DemoTime, NavItem, Reader, Shell


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the navigation, and the roles it is open to (an admin sees all)."""

    key: str
    label: str
    href: str
    icon: str
    roles: tuple[Role, ...]
    group: Literal["work", "manage"] = "work"


class ShellContext(Protocol):
    """What slices above say about the person who looks. One call of each for a page."""

    async def counts(self, uow: UnitOfWork, *, viewer: Viewer) -> Mapping[str, int]:
        """Return the number beside each place, by the place's key."""
        ...

    async def availability(self, uow: UnitOfWork, *, viewer: Viewer) -> Availability | None:
        """Return the person's switch and load; None for people who take no leads."""
        ...


class NoShellContext:
    """No counts and no switch: before any slice has something to say."""

    async def counts(self, uow: UnitOfWork, *, viewer: Viewer) -> Mapping[str, int]:
        """Return nothing."""
        return {}

    async def availability(self, uow: UnitOfWork, *, viewer: Viewer) -> Availability | None:
        """Return nothing."""
        return None


class ShellMaker:
    """Builds the shell for one person and page."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        places: Sequence[Place],
        context: ShellContext,
        organisation: str,
        workspace: str,
        is_demo: bool,
    ) -> None:
        self._database = database
        self._clock = clock
        self._places = tuple(places)
        self._context = context
        self._organisation = organisation
        self._workspace = workspace
        self._is_demo = is_demo

    @property
    def organisation(self) -> str:
        """Return the organisation's name, as messages and pages say it."""
        return self._organisation

    def home_of(self, viewer: Viewer) -> str:
        """Return where this person's work begins: the first place open to them."""
        return next((place.href for place in self._open_to(viewer)), "/sign-in")

    async def shell(
        self, viewer: Viewer, *, current: str, topics: Sequence[str] = (), has_keys: bool = True
    ) -> Shell:
        """Return the shell of a page; `current` is its place's key, `topics` what the page watches
        besides.
        """
        async with self._database.reading() as uow:
            counts = await self._context.counts(uow, viewer=viewer)
            availability = await self._context.availability(uow, viewer=viewer)
        return Shell(
            organisation=self._organisation,
            workspace=self._workspace,
            reader=Reader(
                user_id=viewer.user_id,
                name=viewer.name,
                role=viewer.role.value,
                role_words=viewer.role.words,
                zone=viewer.time_zone,
            ),
            nav=tuple(_item(place, counts.get(place.key)) for place in self._open_to(viewer)),
            current=current,
            topics=tuple(dict.fromkeys([*self._general_topics(viewer), *topics])),
            availability=availability,
            demo=self.demo_time(),
            has_single_letter_keys=has_keys,
        )

    def demo_time(self) -> DemoTime | None:
        """Return the demo clock as shown; None outside the demo."""
        if not self._is_demo:
            return None
        rate = self._clock.reading.rate if isinstance(self._clock, DemoClock) else 1
        return DemoTime(now=self._clock.now(), rate=round(rate))

    def _open_to(self, viewer: Viewer) -> list[Place]:
        return [place for place in self._places if viewer.is_one_of(*place.roles)]

    def _general_topics(self, viewer: Viewer) -> list[str]:
        topics = [f"user:{viewer.user_id}"]
        if viewer.is_one_of(Role.ADVISER, Role.MANAGER):
            topics += ["pool", "inbox"]
        if viewer.is_one_of(Role.MANAGER):
            topics.append("team")
        if self._is_demo:
            topics.append("clock")
        return topics


def _item(place: Place, count: int | None) -> NavItem:
    return NavItem(
        key=place.key, label=place.label, href=place.href, icon=place.icon, count=count, group=place.group
    )
