"""Which failures of a statement come from a value that no column can hold."""

from __future__ import annotations

from typing import Final

from asyncpg.exceptions import (
    CharacterNotInRepertoireError,
    DataError,
    NumericValueOutOfRangeError,
    UntranslatableCharacterError,
)
from sqlalchemy.exc import DBAPIError

_REFUSED_BY_SERVER: Final = (
    CharacterNotInRepertoireError,  # a NUL in a text
    NumericValueOutOfRangeError,
    UntranslatableCharacterError,  # the same in JSON
)


def is_unstorable(error: Exception) -> bool:
    """Say whether a statement failed on a NUL character or a number beyond its column.

    Numbers are refused by the driver, which has one class for them and for a value of the wrong type: that would be a
    fault of ours, so its words decide.
    """
    if not isinstance(error, DBAPIError) or error.orig is None:
        return False
    cause = error.orig.__cause__
    return isinstance(cause, _REFUSED_BY_SERVER) or (
        isinstance(cause, DataError) and "value out of int" in str(cause)
    )
