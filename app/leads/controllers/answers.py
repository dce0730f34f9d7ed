"""What the commands on a lead answer, and where its pages stand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from litestar import Response
from litestar.connection import Request
from litestar.response import Redirect

PLACE: Final = "leads"
LONGEST_TEXT: Final = 300

AnyRequest = Request[Any, Any, Any]


def done(request: AnyRequest, contact_id: int | None, words: str) -> Response[Any]:
    """Answer htmx with nothing to swap: the page's live parts fetch themselves anew. A plain form gets its page.

    Without `contact_id` (a lead that is a colleague's) that is the queue.
    """
    if "hx-request" in request.headers:
        trigger = json.dumps({"resync": {}, "toast": {"text": words}})
        return Response(None, status_code=204, headers={"HX-Trigger": trigger})
    return Redirect("/queue" if contact_id is None else f"/leads/{contact_id}", status_code=303)


def field_text(fields: Mapping[str, object], name: str) -> str:
    """Return a form's field without the space around it, cut where it is too long; empty where it is missing."""
    value = fields.get(name, "")
    return value.strip()[:LONGEST_TEXT] if isinstance(value, str) else ""
