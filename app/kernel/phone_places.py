"""Where a phone number belongs: its country, and its time zone where there is only one."""

from __future__ import annotations

from functools import lru_cache

import phonenumbers
from phonenumbers import timezone


@lru_cache(maxsize=4096)
def country_of(e164: str) -> str | None:
    """Return the country (ISO 3166, two letters) of a number in E.164; None where it belongs to none."""
    number = _read(e164)
    return phonenumbers.region_code_for_number(number) if number is not None else None


@lru_cache(maxsize=4096)
def zone_of(e164: str) -> str | None:
    """Return the time zone in which a number is used; None where its country or area has several."""
    number = _read(e164)
    zones = timezone.time_zones_for_number(number) if number is not None else ()
    if len(zones) != 1 or zones[0] == timezone.UNKNOWN_TIMEZONE:
        return None
    return str(zones[0])


def _read(e164: str) -> phonenumbers.PhoneNumber | None:
    try:
        return phonenumbers.parse(e164)
    except phonenumbers.NumberParseException:
        return None
