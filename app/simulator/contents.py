"""Content templates that the provider knows, and how a message made from one reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.simulator.messages import Button
from app.simulator.refusals import Refusal, message_of

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]{1,16})\s*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One template in one language. `variables` are the samples that stand in for a variable not sent."""

    sid: str
    body: str
    language: str = "en"
    buttons: tuple[Button, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def read_variables(raw: str | None) -> dict[str, str]:
    """Return the values of `ContentVariables`. Raises Refusal 21656 when it is not a JSON object of texts."""
    if raw is None:
        return {}
    try:
        values = json.loads(raw)
    except ValueError:
        raise Refusal(21656, message_of(21656)) from None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise Refusal(21656, message_of(21656))
    return values


def render(content: Content, values: Mapping[str, str]) -> tuple[str, tuple[Button, ...]]:
    """Return the body and the buttons with every variable filled: the value sent, else the sample, else left
    as it is.
    """
    known = {**content.variables, **values}

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda match: known.get(match[1], match[0]), text)

    buttons = tuple(
        replace(button, title=fill(button.title), payload=fill(button.payload), url=fill(button.url))
        for button in content.buttons
    )
    return fill(content.body), buttons
