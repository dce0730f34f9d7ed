"""The four roles. Each person has one; an admin may do what any of them may."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a person comes for, and so what they may do."""

    ADVISER = "adviser"
    MANAGER = "manager"
    MARKETER = "marketer"
    ADMIN = "admin"

    @property
    def words(self) -> str:
        """Return the role as it is written on screens."""
        return self.value.capitalize()

    def is_one_of(self, *roles: Role) -> bool:
        """Say whether this role reaches what is open to `roles`."""
        return self is Role.ADMIN or self in roles
