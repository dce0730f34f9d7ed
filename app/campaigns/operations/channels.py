"""Falling back: which channel is next for a message that one channel cannot carry."""

from __future__ import annotations

from collections.abc import Sequence

from app.campaigns.domain.definition import CompiledVersion, MessageStep, Need
from app.campaigns.domain.steps import next_channel
from app.campaigns.domain.stimuli import Facts
from app.campaigns.operations.facts import add_needed
from app.campaigns.repository import Record
from app.db.session import UnitOfWork


async def next_sender(
    uow: UnitOfWork, record: Record, version: CompiledVersion, *, step: str, tried: Sequence[str]
) -> int | None:
    """Return the sender of the next untried channel that reaches the person; None where there is none."""
    at = version.step(record.state.path, step)
    if not isinstance(at, MessageStep) or Need.CHANNELS not in version.needs or len(at.channels) < 2:
        return None
    plain = {record.id: Facts(record.contact_id, record.zone)}
    facts = (await add_needed(uow, plain, [record], {version.id: version}))[record.id]
    channel = next_channel(at, facts, tried=tuple(tried))
    return facts.senders[channel] if channel is not None else None
