"""How to reach Twilio, and from where it reaches us."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class TwilioSettings:
    """Credentials, addresses and limits of one Twilio account.

    `base_url` sends every product to one loopback address in place of Twilio. Raises `ValueError` when it is
    no loopback address, when `public_base_url` is no http(s) address, or a limit is not positive.
    """

    account_sid: str
    auth_token: str
    """Also the key of webhook signatures, so needed even with an API key."""
    public_base_url: str
    api_key_sid: str | None = None
    api_key_secret: str | None = None
    base_url: str | None = None
    connect_seconds: float = 3.0
    max_connections: int = 64
    page_size: int = 200
    max_pages: int = 5
    callback_overrides: str = ""
    """Connection overrides put as a fragment on the callback address, such as `rc=3&rp=ct,rt,5xx`."""

    def __post_init__(self) -> None:
        public = urlsplit(self.public_base_url)
        if public.scheme not in {"http", "https"} or not public.hostname or public.query or public.fragment:
            raise ValueError("the public base address is http(s)://host[/path]")
        if self.base_url is not None and not is_loopback(self.base_url):
            raise ValueError("only a loopback address may stand in for Twilio")
        if min(self.connect_seconds, self.max_connections, self.page_size, self.max_pages) <= 0:
            raise ValueError("limits are positive")

    @property
    def login(self) -> tuple[str, str]:
        """User name and password of the API: the API key where there is one, else account and token."""
        if self.api_key_sid and self.api_key_secret:
            return self.api_key_sid, self.api_key_secret
        return self.account_sid, self.auth_token


def is_loopback(url: str) -> bool:
    """Whether an address is http(s) on this machine, without user, path, query or fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port_is_valid = parts.port is None or parts.port > 0
        local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
    bare = parts.path in {"", "/"} and not parts.query and not parts.fragment and "@" not in parts.netloc
    return parts.scheme in {"http", "https"} and bare and local and port_is_valid
