"""What an adviser's load is, in the one place where it is written down."""

from __future__ import annotations


def load_sql(owner: str) -> str:
    """Return the SQL expression for a load: the handoffs not closed of `owner`, a column of ours."""
    return f"(SELECT count(*) FROM handoffs h WHERE h.owner_id = {owner} AND h.status <> 'closed')"
