"""The campaign's door as an import sees it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from app.campaigns.operations.enrol import EnrolRequest, EnrolResult, WhenBusy, enrol_batch
from app.contacts.imports.operations.work import LeadToEnrol
from app.db.session import UnitOfWork


async def offer_to_campaign(
    uow: UnitOfWork, *, campaign_key: str, leads: Sequence[LeadToEnrol], actor: str, now: datetime
) -> Mapping[str, str]:
    """Offer a batch to the one door into campaigns; return per ref what it said."""
    results = await enrol_batch(
        uow,
        campaign_key=campaign_key,
        requests=[
            EnrolRequest(
                contact_id=lead.contact_id,
                ref=lead.ref,
                when_busy=WhenBusy.WAIT if lead.waits else WhenBusy.REFUSE,
            )
            for lead in leads
        ],
        actor=actor,
        now=now,
    )
    return {result.ref: _word(result) for result in results}


def _word(result: EnrolResult) -> str:
    match result.outcome:
        case "refused":
            return result.reason or result.outcome
        case "waiting":
            return f"waiting:{result.reason}"
        case outcome:
            return outcome
