"""The lead's page: the person, the conversation, the journey and what may be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row

from app.campaigns.domain.gates import GatePolicy
from app.campaigns.versions import load_versions
from app.contacts.about import about_contact, words_of
from app.db.session import UnitOfWork
from app.inbox.domain.thread_key import ThreadKey
from app.inbox.domain.words import journey_bar, language_words, position_words, stage_words
from app.inbox.queries.composer import load_composer
from app.inbox.queries.open_thread import OpenThread, open_thread
from app.inbox.queries.pages import author_of
from app.inbox.queries.thread import load_thread
from app.kernel.errors import NotFound
from app.kernel.roles import Role
from app.kernel.row_ids import is_row_id
from app.leads.next_step import Standing, next_step
from app.leads.queries.ledger import load_timeline
from app.leads.queries.reviews import load_reviews
from app.leads.queries.waiting import load_waiting
from app.leads.reasons import SUPPRESSIONS, channel_words, moment_words, plan_words, reason_words
from app.leads.stage_map import stage_map
from app.leads.views import Automation, LeadAction, LeadPage, NextStep, StageRow, Verdict
from app.messaging.domain.window import window_closes_at
from app.web.viewer import Viewer
from app.web.views import Fact, JourneyStage
from app.web.words import date_words, day_and_time, masked_phone, short_moment

POLICY: Final = GatePolicy()
MOST_DETAILS: Final = 8

_PERSON = """
SELECT c.id, c.name, c.language, c.time_zone, c.source, c.attributes, c.created_at, talk.whatsapp_inbound_at,
    e.id AS enrolment_id, e.stage, e.automation, e.path, e.step, e.lap, e.generation, e.wait_from, e.next_run_at,
    e.last_sent_at, e.resume_at, e.pause_reason, e.hold_ref, e.exit_reason, e.version_id, e.created_at AS enrolled_at,
    e.campaign_id, k.name AS campaign, k.status AS campaign_status, v.number AS version, v.definition,
    locked.status AS in_flight,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'phone' ORDER BY i.id LIMIT 1)
        AS phone,
    (SELECT i.value FROM contact_identities i WHERE i.contact_id = c.id AND i.kind = 'external' ORDER BY i.id LIMIT 1)
        AS external_id,
    (SELECT t.title FROM tasks t WHERE t.contact_id = e.contact_id AND t.enrolment_id = e.id AND t.done_at IS NULL
        AND t.kind = 'review' ORDER BY t.id DESC LIMIT 1) AS review,
    (SELECT max(d.ends_at) FROM cooldowns d WHERE d.contact_id = c.id AND d.lifted_at IS NULL
        AND d.starts_at <= :now AND d.ends_at > :now) AS rests_until,
    (SELECT t.name FROM sends s JOIN templates t ON t.key = s.template_key WHERE s.id = e.first_reply_send_id
        ORDER BY t.language = 'en' DESC, t.id LIMIT 1) AS replied_to,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(n.channel, n.granted, n.source, n.at) ORDER BY n.channel DESC), '[]')
        FROM consents n WHERE n.contact_id = c.id) AS consents,
    (SELECT coalesce(jsonb_agg(jsonb_build_array(s.channel, s.reason, s.created_at) ORDER BY s.id), '[]')
        FROM suppressions s WHERE s.contact_id = c.id AND s.lifted_at IS NULL) AS suppressed,
    ARRAY(SELECT 'kill_switch:' || w.scope FROM kill_switches w WHERE w.scope IN ('global', 'channel:whatsapp',
        'campaign:' || e.campaign_id, 'sender:' || e.sender_id) ORDER BY w.scope) AS switches
FROM contacts c
LEFT JOIN LATERAL (SELECT x.* FROM enrolments x WHERE x.contact_id = ANY(CAST(:people AS bigint[]))
    ORDER BY (x.automation = 'completed'), x.id DESC LIMIT 1) e ON true
LEFT JOIN campaigns k ON k.id = e.campaign_id
LEFT JOIN campaign_versions v ON v.id = e.version_id
LEFT JOIN conversations talk ON talk.contact_id = c.id
LEFT JOIN sends locked ON locked.enrolment_id = e.id
    AND locked.id = CASE WHEN e.lock_token ~ '^send[:][0-9]{1,18}$' THEN substr(e.lock_token, 6)::bigint END
WHERE c.id = :contact_id
"""
_STAGES = """
SELECT at, type, cause, set ->> 'stage' AS stage FROM ledger
WHERE contact_id = ANY(CAST(:people AS bigint[])) AND enrolment_id = :enrolment_id AND set ? 'stage' ORDER BY seq
"""
# What held a message back: the one the lead stands at, and others of today.
_VERDICTS = """
SELECT s.id, s.status, s.verdict, s.status_at, (SELECT t.name FROM templates t WHERE t.key = s.template_key
    ORDER BY t.language = 'en' DESC, t.id LIMIT 1) AS template
FROM sends s
WHERE s.enrolment_id = :enrolment_id AND s.verdict ->> 'outcome' <> 'pass'
  AND s.status IN ('waiting', 'queued', 'skipped', 'superseded', 'needs_review')
  AND ((s.path, s.step, s.lap, s.generation) IS NOT DISTINCT FROM (CAST(:path AS text), CAST(:step AS text),
      CAST(:lap AS integer), CAST(:generation AS integer))
    OR s.status_at > CAST(:now AS timestamptz) - interval '24 hours')
ORDER BY s.status_at DESC, s.id DESC LIMIT 3
"""


@dataclass(frozen=True, slots=True)
class OpenedLead:
    """A lead that this person may see. Raises `NotFound` otherwise, when it is opened."""

    thread: OpenThread
    viewer: Viewer

    @property
    def may_act(self) -> bool:
        """Say whether they may move the journey: their own lead, nobody's, a manager any."""
        return self.thread.owner_id in (None, self.viewer.user_id) or self.viewer.is_one_of(Role.MANAGER)


async def open_lead(uow: UnitOfWork, *, contact_id: int, viewer: Viewer, now: datetime) -> OpenedLead:
    """Return a lead, followed through merges: one's own or nobody's, a manager's any. Raises `NotFound`."""
    if not is_row_id(contact_id):
        raise NotFound("There is no such lead.")
    key = ThreadKey(contact_id, True)
    opened = await open_thread(uow, key=key, author=author_of(viewer), now=now)
    return OpenedLead(opened, viewer)


async def load_lead(
    uow: UnitOfWork,
    *,
    lead: OpenedLead,
    organisation: str,
    now: datetime,
    before: str | None = None,
    with_conversation: bool,
) -> LeadPage:
    """Return the page. Raises `Invalid` for a cursor that was not made here."""
    thread, viewer = lead.thread, lead.viewer
    zone = viewer.time_zone
    values = {"contact_id": thread.contact_id, "people": list(thread.people), "now": now}
    row = (await uow.execute(_PERSON, values)).one()
    timeline = await load_timeline(uow, people=thread.people, zone=zone, now=now, before=before)
    stages = await _stages(uow, row, thread.people, zone, now)
    visited = {stage.key for stage in stages[:-1]}
    notes = {
        stage.key: short_moment(stage.row.entered_at, now=now, zone=zone)
        for stage in stages
        if stage.row.entered_at
    }
    nodes, edges = stage_map(current=row.stage or "", visited=visited, notes=notes)
    closes_at = window_closes_at(row.whatsapp_inbound_at)
    page = LeadPage(
        contact_id=thread.contact_id,
        name=thread.name,
        about=", ".join(
            p
            for p in (
                about_contact(attributes=row.attributes, source=row.source),
                language_words(row.language),
            )
            if p
        ),
        phone_masked=masked_phone(row.phone) if row.phone else "No phone",
        stage=stage_words(row.stage),
        position=position_words(row.definition, path=row.path, step=row.step),
        journey=tuple(JourneyStage(one.label, one.state) for one in journey_bar(row.stage)),
        automation=_automation(row),
        automation_words=_automation_words(row, zone, now),
        consent_words=_consents(row.consents, zone),
        facts=_facts(row, zone, now),
        timeline=timeline.rows,
        nodes=nodes,
        edges=edges,
        stages=tuple(stage.row for stage in reversed(stages)),
        topics=(f"lead:{thread.contact_id}",),
        owner_name=_owner(thread),
        suppression_words=_suppressions(row.suppressed, zone),
        clock=thread.clock,
        window_closes_at=closes_at if closes_at is not None and closes_at > now else None,
        next_step=await _next_step(uow, row, thread, zone, now),
        verdicts=await _verdicts(uow, row, zone, now),
        actions=(*_actions(row, lead), *_rest_actions(row, lead, zone, now)),
        handoff_id=thread.handoff_id if lead.may_act else None,
        can_assign=thread.handoff_id is not None and viewer.is_one_of(Role.MANAGER),
        can_take=thread.standing.is_in_pool and viewer.role is Role.ADVISER,
        reviews=await load_reviews(uow, people=thread.people, viewer=viewer),
        waiting=await load_waiting(
            uow,
            people=thread.people,
            may_act=lead.may_act,
            may_override=viewer.is_one_of(Role.MANAGER),
            zone=zone,
            now=now,
        ),
        can_enrol=lead.may_act and row.automation in (None, "completed"),
        older_timeline_url=f"/leads/{thread.contact_id}?before={timeline.next_cursor}"
        if timeline.next_cursor
        else None,
    )
    if not with_conversation:
        return page
    return replace(
        page,
        thread=await load_thread(uow, opened=thread, zone=zone, now=now),
        composer=await load_composer(uow, opened=thread, organisation=organisation),
    )


def _owner(thread: OpenThread) -> str | None:
    """Return who has the lead; None prints as the pool, which is only where a handoff waits."""
    if thread.standing.is_in_pool:
        return None
    return thread.owner_name or "Nobody yet"


def _automation(row: Row[Any]) -> Automation:
    return row.automation or "completed"


def _automation_words(row: Row[Any], zone: str, now: datetime) -> str:
    match row.automation:
        case None:
            return "Not in a campaign"
        case "active":
            return "Campaign paused for everybody" if row.campaign_status != "active" else "Campaign runs"
        case "paused":
            why = reason_words(row.pause_reason, zone=zone, now=now)
            return f"Campaign paused: {why}" if why else "Campaign paused"
        case "held":
            return "Held for a check"
        case _:
            why = reason_words(row.exit_reason, zone=zone, now=now)
            return f"Ended: {why}" if why else "Ended"


def _consents(consents: Sequence[Sequence[Any]], zone: str) -> str:
    said = [
        f"{channel_words(channel)}: {'yes' if granted else 'no'} ({_said_where(source)}, "
        f"{date_words(datetime.fromisoformat(at), zone=zone)})"
        for channel, granted, source, at in consents
    ]
    return "; ".join(said) or "None recorded, so the campaign may not write"


def _said_where(source: str) -> str:
    return "imported list" if source.startswith("import:") else words_of(source).lower()


def _suppressions(suppressed: Sequence[Sequence[Any]], zone: str) -> str:
    said = [
        f"{channel_words(channel)} is closed since {date_words(datetime.fromisoformat(at), zone=zone)}: "
        f"{SUPPRESSIONS.get(reason, reason)}"
        for channel, reason, at in suppressed
    ]
    words = "; ".join(said)
    return f"{words[:1].upper()}{words[1:]}." if words else ""


def _facts(row: Row[Any], zone: str, now: datetime) -> tuple[Fact, ...]:
    facts = [Fact("Campaign", f"{row.campaign}, version {row.version}")] if row.campaign else []
    if row.enrolled_at is not None:
        facts.append(Fact("Joined", day_and_time(row.enrolled_at, now=now, zone=zone)))
    if row.replied_to:
        facts.append(Fact("First answer", f"to “{row.replied_to}”"))
    facts.append(Fact("Language", language_words(row.language)))
    if row.time_zone:
        facts.append(Fact("Time zone", row.time_zone.rsplit("/", 1)[-1].replace("_", " ")))
    if row.source:
        facts.append(Fact("Source", words_of(row.source)))
    if row.external_id:
        facts.append(Fact("Our number", row.external_id))
    if row.rests_until is not None:
        facts.append(Fact("Rests until", day_and_time(row.rests_until, now=now, zone=zone)))
    return (*facts, *_details(row.attributes))


def _details(attributes: Mapping[str, Any]) -> list[Fact]:
    said = [(words_of(key), " ".join(str(value).split())) for key, value in attributes.items()]
    return [Fact(label, value) for label, value in said if value][:MOST_DETAILS]


@dataclass(frozen=True, slots=True)
class _Stage:
    key: str
    row: StageRow


async def _stages(
    uow: UnitOfWork, row: Row[Any], people: Sequence[int], zone: str, now: datetime
) -> list[_Stage]:
    """Return the stages of the present journey in the order they were reached."""
    if row.enrolment_id is None:
        return []
    reached = (await uow.execute(_STAGES, {"people": list(people), "enrolment_id": row.enrolment_id})).all()
    return [
        _Stage(
            one.stage,
            StageRow(
                label=stage_words(one.stage),
                entered_at=one.at,
                note=_entry(one, zone, now),
                is_current=n == len(reached) - 1,
            ),
        )
        for n, one in enumerate(reached)
    ]


def _entry(row: Row[Any], zone: str, now: datetime) -> str:
    """Say what led to a stage. The state is written with the first event after it moved."""
    words = {
        "enrolled": "Joined the campaign",
        "paused": "The lead answered",
        "replied": "The lead answered",
        "resumed": "Given back to the campaign",
        "opted_out": "Asked us to stop",
        "exhausted": "All messages were sent",
    }
    if row.type in words:
        return words[row.type]
    why = reason_words(row.cause, zone=zone, now=now)
    return why[:1].upper() + why[1:] or words_of(row.type)


async def _next_step(
    uow: UnitOfWork, row: Row[Any], thread: OpenThread, zone: str, now: datetime
) -> NextStep | None:
    if row.enrolment_id is None:
        return None
    version = (await load_versions(uow, [row.version_id]))[row.version_id]
    names = await uow.execute(
        "SELECT DISTINCT ON (key) key, name FROM templates ORDER BY key, language = 'en' DESC"
    )
    stops = [*row.switches, *([] if row.campaign_status == "active" else ["campaign_paused"])]
    standing = Standing(
        stage=row.stage,
        automation=row.automation,
        path=row.path,
        step=row.step,
        wait_from=row.wait_from,
        next_run_at=row.next_run_at,
        last_sent_at=row.last_sent_at,
        resume_at=row.resume_at,
        pause_reason=row.pause_reason,
        hold_reason=row.review or row.hold_ref,
        has_handoff=thread.handoff_id is not None,
        in_flight=row.in_flight,
        stops=stops,
        zone=row.time_zone or uow.zone,
    )
    return next_step(
        standing,
        version=version,
        templates={name.key: name.name for name in names},
        policy=POLICY,
        reader_zone=zone,
        now=now,
    )


async def _verdicts(uow: UnitOfWork, row: Row[Any], zone: str, now: datetime) -> tuple[Verdict, ...]:
    if row.enrolment_id is None or row.automation == "completed":
        return ()
    values = {name: getattr(row, name) for name in ("enrolment_id", "path", "step", "lap", "generation")}
    found = await uow.execute(_VERDICTS, {**values, "now": now})
    return tuple(
        Verdict(key=str(one.id), at=_given_at(one), words=_verdict_words(one, zone, now)) for one in found
    )


def _given_at(row: Row[Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(row.verdict.get("at")))
    except ValueError:
        moment: datetime = row.status_at
        return moment


def _verdict_words(row: Row[Any], zone: str, now: datetime) -> str:
    why = reason_words(row.verdict.get("reason"), zone=zone, now=now)
    done = {"skipped": "left out", "superseded": "not needed any more", "needs_review": "stopped"}
    words = f"“{row.template or 'A message'}” {done.get(row.status, 'waits')}: {why}"
    until = row.verdict.get("until")
    if not until or row.status not in ("waiting", "queued"):
        return words
    return f"{words}, until {moment_words(until, now=now, zone=zone)}"


def _actions(row: Row[Any], lead: OpenedLead) -> tuple[LeadAction, ...]:
    if row.enrolment_id is None or row.automation == "completed" or not lead.may_act:
        return ()
    url = f"/enrolments/{row.enrolment_id}"
    pause = LeadAction(
        key="pause",
        label="Pause",
        icon="pause",
        url=f"{url}/pause",
        confirm_title="Pause the campaign for this lead?",
        confirm_text="Nothing more is sent until somebody resumes it. A message already on its way still arrives.",
        reason_label="Why?",
    )
    resume = LeadAction(
        key="resume",
        label="Back to the campaign",
        icon="play",
        url=f"{url}/resume",
        confirm_title="Give this lead back to the campaign?",
        confirm_text="The campaign goes on where it left off. An open handoff closes as “back to the campaign”.",
    )
    hold = LeadAction(
        key="hold",
        label="Hold",
        icon="lock",
        url=f"{url}/hold",
        confirm_title="Hold this journey?",
        confirm_text="Nothing moves it until it is released, not even an answer of the lead.",
        reason_label="Why?",
    )
    release = LeadAction(key="release", label="Release the hold", icon="play", url=f"{url}/release")
    close = LeadAction(key="close", label="Close", icon="flag", url=f"{url}/close")
    by_automation = {"active": (pause, hold), "paused": (resume, hold), "held": (release,)}
    actions = by_automation.get(row.automation, ())
    return actions if lead.thread.handoff_id is not None else (*actions, close)


def _rest_actions(row: Row[Any], lead: OpenedLead, zone: str, now: datetime) -> tuple[LeadAction, ...]:
    """Return what a manager may do about a rest that runs."""
    if row.rests_until is None or not lead.viewer.is_one_of(Role.MANAGER):
        return ()
    until = plan_words(row.rests_until, zone=zone, now=now)
    return (
        LeadAction(
            key="lift",
            label="End their rest",
            icon="alarm-clock-off",
            url=f"/leads/{row.id}/rest/lift",
            confirm_title="End this lead's rest?",
            confirm_text=f"They are left alone until {until}. Once it is ended, campaigns may begin with them again.",
            reason_label="Why?",
        ),
    )
