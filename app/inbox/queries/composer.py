"""Where an answer is written: its mode, the window's end, and the templates with the lead's values filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.content import label_of, prefilled
from app.inbox.domain.words import language_words
from app.inbox.queries.open_thread import OpenThread
from app.inbox.views import Composer, TemplateChoice, TemplatePart, TemplateVariable
from app.messaging.domain.addresses import Channel
from app.messaging.domain.composing import Lead, TemplateText
from app.messaging.domain.rendering import LONGEST_BODY
from app.messaging.domain.templates import split_body

# The contact's own language first, then English, then the others.
_TEMPLATES = """
SELECT id, key, name, language, body, approval, content_sid, variables, buttons FROM templates
WHERE channel = 'whatsapp' AND approval = 'approved' AND content_sid IS NOT NULL
ORDER BY (split_part(language, '-', 1) = split_part(:language, '-', 1)) DESC, (language = 'en') DESC, language,
    name, id
"""


async def load_composer(
    uow: UnitOfWork, *, opened: OpenThread, organisation: str, draft: str = "", problem: str = ""
) -> Composer:
    """Return the composer of a thread. `draft` and `problem` come back after a refusal."""
    rows: list[Row[Any]] = []
    if opened.way.has_templates:
        rows = list((await uow.execute(_TEMPLATES, {"language": opened.language})).all())
    return Composer(
        conversation_id=str(opened.key),
        version=opened.version,
        client_id=str(uuid4()),
        lead_name=opened.name,
        mode=opened.way.mode.value,
        longest=LONGEST_BODY[Channel(opened.way.channel)],
        templates=tuple(_choice(row, opened.lead(organisation)) for row in rows),
        window_closes_at=opened.way.closes_at,
        draft=draft,
        problem=problem,
        blocked_words=opened.way.words,
    )


def _choice(row: Row[Any], lead: Lead) -> TemplateChoice:
    template = TemplateText(
        row.key, row.language, row.body, row.approval, row.content_sid, row.variables, row.buttons
    )
    values = prefilled(template, lead)
    return TemplateChoice(
        template_id=row.id,
        name=row.name,
        lang=row.language,
        language=language_words(row.language),
        parts=_parts(row.body, values),
        variables=tuple(
            TemplateVariable(str(v["name"]), label_of(v), values[str(v["name"])]) for v in template.variables
        ),
    )


def _parts(body: str, values: Mapping[str, str]) -> tuple[TemplatePart, ...]:
    return tuple(
        TemplatePart(values.get(piece.variable) or "…", piece.variable)
        if piece.variable is not None
        else TemplatePart(piece.text)
        for piece in split_body(body)
    )
