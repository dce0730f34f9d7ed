"""What the account forms send."""

from __future__ import annotations

from typing import Literal

import msgspec


class SignInForm(msgspec.Struct, frozen=True):
    """The sign-in form, or one of the demo's buttons. Texts beyond their length are no form of ours."""

    email: str = ""
    password: str = ""
    demo_person: str = ""
    next: str = ""


class ThemeForm(msgspec.Struct, frozen=True):
    """Day, night, or as the system says."""

    theme: Literal["day", "night", "system"]


class KeysForm(msgspec.Struct, frozen=True):
    """Single-letter keys; an unticked box sends nothing."""

    keys: Literal["on", "off"] = "off"
