"""Where numbers belong: one zone or none, never a guess."""

from __future__ import annotations

import pytest

from app.kernel.phone_places import country_of, zone_of


@pytest.mark.parametrize(
    ("number", "country", "zone"),
    [
        ("+60123456789", "MY", "Asia/Kuching"),  # mobile numbers are not bound to either half of the country
        ("+6591234567", "SG", "Asia/Singapore"),
        ("+12125550123", "US", "America/New_York"),
        ("+18005550123", None, None),  # toll-free: anywhere in North America
        ("+5511987654321", "BR", "America/Sao_Paulo"),
        ("nonsense", None, None),
    ],
)
def test_country_and_zone(number: str, country: str | None, zone: str | None) -> None:
    assert zone_of(number) == zone
    if country is not None:
        assert country_of(number) == country
