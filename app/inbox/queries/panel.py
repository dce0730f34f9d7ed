"""The side panel about one lead: journey, facts, the last events. For the inbox, the queue and the lead's page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from app.db.session import UnitOfWork
from app.inbox.domain.words import (
    event_title,
    journey_bar,
    language_words,
    next_words,
    position_words,
    stage_words,
)
from app.inbox.queries.listing import display_name
from app.kernel.errors import NotFound
from app.messaging.domain.window import window_closes_at
from app.web.views import Fact, JourneyStage, LeadPanel, TimelineEvent
from app.web.words import day_and_time, masked_phone

EVENTS: Final = 6
_CHANNELS: Final = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "E-mail", "all": "all channels"}
_SUPPRESSIONS: Final = {
    "stop_word": "asked us to stop",
    "provider_block": "blocked at the provider",
    "unreachable": "cannot be reached",
    "complaint": "complained",
    "operator": "closed by us",
}
_AUTOMATION: Final = {"active": "Running", "paused": "Paused", "held": "Held", "completed": "Ended"}

_PANEL = """
SELECT c.id, c.name, c.language, c.source, e.stage, e.automation, e.path, e.step, e.next_run_at,
    k.name AS campaign, v.definition, talk.whatsapp_inbound_at,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone'
        ORDER BY i.id LIMIT 1) AS phone,
    (SELECT u.name FROM users u WHERE u.id = coalesce(
        (SELECT h.owner_id FROM handoffs h WHERE h.contact_id = c.id AND h.status <> 'closed'), c.owner_id)) AS owner,
    EXISTS (SELECT 1 FROM handoffs h WHERE h.contact_id = c.id AND h.status <> 'closed' AND h.owner_id IS NULL)
        AS is_in_pool,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(s.channel, s.granted) ORDER BY s.channel), '[]')
        FROM consents s WHERE s.contact_id = c.id) AS consents,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(s.channel, s.reason) ORDER BY s.id), '[]')
        FROM suppressions s WHERE s.contact_id = c.id AND s.lifted_at IS NULL) AS suppressed
FROM contacts c
LEFT JOIN LATERAL (SELECT * FROM enrolments x WHERE x.contact_id = c.id
    ORDER BY (x.automation = 'completed'), x.id DESC LIMIT 1) e ON true
LEFT JOIN campaigns k ON k.id = e.campaign_id
LEFT JOIN campaign_versions v ON v.id = e.version_id
LEFT JOIN conversations talk ON talk.contact_id = c.id
WHERE c.id = :contact_id
"""
_EVENTS = """
SELECT id, type, at, data, cause FROM ledger WHERE contact_id = :contact_id
AND type NOT IN ('path_entered', 'send_queued', 'send_started', 'send_accepted', 'delivered')
ORDER BY id DESC LIMIT :limit
"""


async def load_panel(uow: UnitOfWork, *, contact_id: int, zone: str, now: datetime) -> LeadPanel:
    """Return what is known about a lead. `zone` is the reader's. Raises `NotFound`."""
    row = (await uow.execute(_PANEL, {"contact_id": contact_id})).one_or_none()
    if row is None:
        raise NotFound("There is no such lead.")
    events = (await uow.execute(_EVENTS, {"contact_id": contact_id, "limit": EVENTS})).all()
    return LeadPanel(
        contact_id=row.id,
        name=display_name(row.name, row.phone),
        stage=stage_words(row.stage),
        position=position_words(row.definition, path=row.path, step=row.step),
        journey=tuple(JourneyStage(one.label, one.state) for one in journey_bar(row.stage)),
        facts=_facts(row, now),
        timeline=tuple(
            TimelineEvent(
                key=str(event.id), at=event.at, title=event_title(event.type, event.data), is_latest=n == 0
            )
            for n, event in enumerate(events)
        ),
        topics=(f"lead:{row.id}",),
        next_step=_next(row, zone, now),
    )


def _facts(row: Row[Any], now: datetime) -> tuple[Fact, ...]:
    facts = [
        Fact(
            "Campaign", f"{row.campaign}, {_AUTOMATION[row.automation].lower()}" if row.campaign else "None"
        ),
        Fact("Owner", "Pool" if row.is_in_pool else row.owner or "Nobody yet"),
        Fact("Language", language_words(row.language)),
        Fact("Phone", masked_phone(row.phone) if row.phone else "None"),
        Fact("Source", (row.source or "Unknown").replace("_", " ").capitalize()),
        Fact("Consent", _consent(row.consents)),
    ]
    if row.suppressed:
        facts.append(Fact("Closed", _closed(row.suppressed)))
    closes_at = window_closes_at(row.whatsapp_inbound_at)
    if closes_at is not None:
        facts.append(Fact("Free replies", "", until=closes_at))
    return tuple(facts)


def _consent(consents: list[list[Any]]) -> str:
    granted = [_CHANNELS.get(channel, channel) for channel, is_granted in consents if is_granted]
    return ", ".join(granted) or "None recorded"


def _closed(suppressed: list[list[str]]) -> str:
    said = [
        f"{_CHANNELS.get(channel, channel)}: {_SUPPRESSIONS.get(reason, reason)}"
        for channel, reason in suppressed
    ]
    words = "; ".join(said)
    return words[:1].upper() + words[1:]


def _next(row: Row[Any], zone: str, now: datetime) -> str:
    if row.automation == "paused":
        return "Nothing is sent by the campaign while a person talks with them."
    if row.automation == "held":
        return "Nothing is sent until somebody has checked."
    if row.automation != "active" or row.next_run_at is None:
        return ""
    what = next_words(row.definition, path=row.path, step=row.step)
    at = day_and_time(max(row.next_run_at, now), now=now, zone=zone)
    return f"Next: {what}, {at} or later" if what else f"Next step {at}"
