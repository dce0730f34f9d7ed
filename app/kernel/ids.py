"""Identifiers that are made here and travel outside: sortable by time, without meaning."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford base 32


def attempt_id(*, at_ms: int) -> str:
    """Return an attempt id: `att_`, 10 characters of time (milliseconds), 16 of chance (80 bits)."""
    return f"att_{_base32(at_ms, 10)}{_base32(secrets.randbits(80), 16)}"


def lease_token() -> str:
    """Return a token nobody can guess or repeat, for leases and locks."""
    return secrets.token_hex(16)


def once_token() -> str:
    """Return a token that makes one form one wish, however often it is sent."""
    return secrets.token_hex(16)


def _base32(value: int, width: int) -> str:
    characters = []
    for _ in range(width):
        characters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(characters))
