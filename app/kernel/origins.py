"""Whether a browser's request began on our own pages: the Origin rule for forms and sockets."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_own_origin(origin: str | None, *, public_base_url: str, host: str | None) -> bool:
    """Say whether an Origin header names us: the public address, or the very host that was asked.

    A page elsewhere cannot choose the Host its visitor's browser sends, so a match of both means our own page
    (127.0.0.1 and localhost in a demo). A missing or opaque origin (`null`) is not ours.
    """
    if not origin:
        return False
    parts = urlsplit(origin)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return False
    public = urlsplit(public_base_url)
    if (parts.scheme, parts.netloc.lower()) == (public.scheme, public.netloc.lower()):
        return True
    return bool(host) and public.scheme == parts.scheme and parts.netloc.lower() == str(host).lower()


def own_path(address: str | None) -> str | None:
    """Return a path of this site that is safe to redirect to, or None.

    Refused are other sites in every spelling a browser would follow: `//host`, a backslash, a scheme, control
    characters (browsers drop tabs and line ends inside addresses).
    """
    if not address or not address.startswith("/") or len(address) > 2000:
        return None
    if (
        address.startswith("//")
        or "\\" in address
        or any(ord(sign) <= 32 or ord(sign) == 127 for sign in address)
    ):
        return None
    parts = urlsplit(address)
    return None if parts.scheme or parts.netloc else address
