"""Imports every table, so that Alembic and the schema test see the whole database."""

from __future__ import annotations

import app.accounts.models
import app.advisers.models
import app.bookings.models
import app.campaigns.models
import app.contacts.models
import app.db.models
import app.ledger.models
import app.messaging.models  # noqa: F401  (imported for their tables)
from app.db.base import Base

metadata = Base.metadata
