"""A desk on a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from app.advisers.events import OutcomeLogged
from app.db.session import Database, make_engine
from tests.fixtures.desk import Desk, end_the_enrolment


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[Desk]:
    """Give an empty desk on a database of its own."""
    engine = make_engine(database_url, pool_size=20, max_overflow=0)
    database = Database(engine)
    database.react_to({OutcomeLogged: [end_the_enrolment]})
    yield Desk(database)
    await engine.dispose()
