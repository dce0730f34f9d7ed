"""The names and marks of our cookies."""

from __future__ import annotations

from dataclasses import dataclass

from litestar.datastructures import Cookie


@dataclass(frozen=True, slots=True)
class CookieRules:
    """How cookies are named and marked: over https they are `__Host-` ones and never leave it."""

    is_secure: bool

    @classmethod
    def for_address(cls, public_base_url: str) -> CookieRules:
        """Return the rules for a public address."""
        return cls(is_secure=public_base_url.startswith("https://"))

    @property
    def session(self) -> str:
        """The cookie that holds a session's secret."""
        return self._name("warmline_session")

    @property
    def before_session(self) -> str:
        """The cookie that ties a sign-in form to the browser it was shown in."""
        return self._name("warmline_sign_in")

    def secret(self, name: str, value: str, *, max_age: int) -> Cookie:
        """Return a cookie that scripts cannot read and other sites' forms do not send."""
        return Cookie(
            key=name,
            value=value,
            max_age=max_age,
            path="/",
            secure=self.is_secure,
            httponly=True,
            samesite="lax",
        )

    def gone(self, name: str) -> Cookie:
        """Return the cookie that removes `name`."""
        return self.secret(name, "", max_age=0)

    def preference(self, name: str, value: str) -> Cookie:
        """Return a cookie that scripts may read: a choice of looks, no secret."""
        return Cookie(
            key=name, value=value, max_age=31_536_000, path="/", secure=self.is_secure, samesite="lax"
        )

    def _name(self, name: str) -> str:
        return f"__Host-{name}" if self.is_secure else name
