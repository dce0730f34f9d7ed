"""An empty desk for each test."""

from __future__ import annotations

import pytest

from app.advisers.events import OutcomeLogged
from app.db.session import Database
from tests.fixtures.desk import Desk, end_the_enrolment


@pytest.fixture
async def desk(clean_database: Database) -> Desk:
    """Give an empty desk."""
    clean_database.react_to({OutcomeLogged: [end_the_enrolment]})
    return Desk(clean_database)
