"""The provider's webhook signature."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping


def signature(*, auth_token: str, url: str, params: Mapping[str, str]) -> str:
    """Return `X-Twilio-Signature`: HMAC-SHA1 over the full URL (query included) and the sorted names with
    their values.

    Source: twilio.com/docs/usage/security, form-encoded requests.
    """
    text = url + "".join(name + params[name] for name in sorted(params))
    return base64.b64encode(hmac.new(auth_token.encode(), text.encode(), hashlib.sha1).digest()).decode()
