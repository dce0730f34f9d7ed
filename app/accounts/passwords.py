"""Password hashes: argon2id, in a thread, a few at a time, never telling by time whether a person exists."""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.accounts.domain import MAX_PASSWORD

AT_ONCE = 2
"""Each check takes 64 MiB and a core for a moment: a burst of tries must not take the machine."""


class Passwords:
    """Makes and checks hashes with the present parameters; old hashes stay valid and are made anew at
    sign-in.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._nobody: str | None = None

    async def hash(self, password: str) -> str:
        """Return a hash for storing."""
        async with self._turns:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def is_right(self, stored: str | None, password: str) -> bool:
        """Say whether the password fits. With None (nobody of that name) it takes as long and says no."""
        if len(password) > MAX_PASSWORD:
            password = ""
        async with self._turns:
            return await asyncio.to_thread(self._verify, stored, password)

    def is_outdated(self, stored: str) -> bool:
        """Say whether the hash was made with other parameters than the present ones."""
        return self._hasher.check_needs_rehash(stored)

    def _verify(self, stored: str | None, password: str) -> bool:
        if self._nobody is None:
            self._nobody = self._hasher.hash("nobody's password")
        try:
            self._hasher.verify(stored or self._nobody, password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None
