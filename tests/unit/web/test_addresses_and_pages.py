"""Where requests come from and lead to, and cursors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.connection import ASGIConnection

from app.kernel.errors import Invalid
from app.kernel.origins import is_own_origin, own_path
from app.web.client_address import client_address
from app.web.pagination import cursor_of, key_of, page_of, page_size

PUBLIC = "https://warmline.example.org"


@pytest.mark.parametrize(
    ("origin", "host", "is_own"),
    [
        ("https://warmline.example.org", "10.0.0.5:8000", True),
        ("https://WARMLINE.example.org", None, True),
        ("http://warmline.example.org", "warmline.example.org", False),
        ("https://warmline.example.org:444", "10.0.0.5", False),
        ("https://warmline.example.org.evil.example", "10.0.0.5", False),
        ("https://other.example", "other.example", True),
        ("null", "null", False),
        ("", "", False),
        (None, None, False),
        ("file://", "", False),
    ],
)
def test_only_our_own_pages_are_our_own(origin: str | None, host: str | None, is_own: bool) -> None:
    assert is_own_origin(origin, public_base_url=PUBLIC, host=host) is is_own


@pytest.mark.parametrize("path", ["/", "/queue", "/leads/7?tab=journey#now", "/sign-in?next=%2Fqueue"])
def test_paths_of_this_site_are_kept(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        None,
        "queue",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
    ]
    + ["/\t/evil.example", "/\n/evil.example", " /queue", "javascript:alert(1)", "/" + "x" * 3000, "/a\x00"],
)
def test_whatever_leads_elsewhere_is_dropped(path: str | None) -> None:
    assert own_path(path) is None


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "address"),
    [
        ("203.0.113.7", "198.51.100.1", (), "203.0.113.7"),
        ("10.0.0.2", "198.51.100.1", ("10.0.0.0/8",), "198.51.100.1"),
        ("10.0.0.2", "6.6.6.6, 198.51.100.1, 10.0.0.9", ("10.0.0.0/8",), "198.51.100.1"),
        ("10.0.0.2", "6.6.6.6, garbage", ("10.0.0.0/8",), "10.0.0.2"),
        ("10.0.0.2", "", ("10.0.0.0/8",), "10.0.0.2"),
        ("203.0.113.7", "198.51.100.1", ("10.0.0.0/8",), "203.0.113.7"),
    ],
)
def test_a_forwarded_address_is_believed_from_trusted_proxies_only(
    peer: str, forwarded: str, trusted: tuple[str, ...], address: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope: Any = {"type": "http", "client": (peer, 1), "headers": headers}
    assert client_address(ASGIConnection(scope), trusted_proxies=trusted) == address


@given(st.lists(st.none() | st.integers() | st.text(), min_size=1, max_size=4))
def test_a_cursor_gives_back_its_key(parts: list[str | int | None]) -> None:
    assert key_of(cursor_of(tuple(parts)), length=len(parts)) == tuple(parts)


@pytest.mark.parametrize("cursor", ["x", "!!!", "W10", cursor_of((1,)), "eyJhIjoxfQ", "W1tbW1tb", "ü"])
def test_a_cursor_that_was_not_made_here_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        key_of(cursor, length=2)


def test_a_page_holds_its_size_and_says_whether_more_follows() -> None:
    first = page_of([1, 2, 3], size=2, key=lambda row: (row,))
    assert (first.rows, key_of(first.next_cursor, length=1)) == ((1, 2), (2,))
    last = page_of([3], size=2, key=lambda row: (row,))
    assert (last.rows, last.next_cursor) == ((3,), None)
    assert page_of([], size=2, key=lambda row: (row,)).rows == ()
    assert [page_size(asked) for asked in (None, 0, -5, 7, 10_000)] == [50, 50, 1, 7, 200]
