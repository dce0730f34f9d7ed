"""What the inbox shows, with a number of statements that does not grow with its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import event

from app.inbox.domain.answering import Author
from app.inbox.domain.content import TemplatePick
from app.inbox.domain.thread_key import ThreadKey
from app.inbox.operations import mark_read
from app.inbox.queries.composer import load_composer
from app.inbox.queries.listing import PAGE, Selection, conversation_rows, selection
from app.inbox.queries.open_thread import open_thread
from app.inbox.queries.pages import load_list, load_page
from app.inbox.queries.panel import load_panel
from app.inbox.queries.thread import load_thread
from app.inbox.views import Bubble, InboxPage, Thread
from app.kernel.errors import Invalid, NotFound
from app.web.pagination import cursor_of
from tests.factories.journeys import Lead, add_lead, say, take_lead
from tests.integration.inbox.conftest import AINA, FARID, MEI, ORGANISATION, Desk, viewer


@contextmanager
def counting(desk: Desk) -> Iterator[list[str]]:
    """Collect the statements that are executed."""
    seen: list[str] = []

    def note(_c: object, _k: object, statement: str, *_: object) -> None:
        seen.append(statement)

    engine = desk.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


async def names(desk: Desk, author: Author, tab: str, search: str = "") -> list[str]:
    """Return the names in a tab."""
    async with desk.database.reading() as uow:
        page = await conversation_rows(
            uow, author=author, chosen=Selection(tab, search), current="", now=desk.now
        )
    return [row.name for row in page.rows]


async def page_of(desk: Desk, lead: Lead, *, author: Author = AINA, before: str | None = None) -> InboxPage:
    """Open a lead's thread as a page."""
    async with desk.database.reading() as uow:
        return await load_page(
            uow,
            viewer=viewer(author),
            chosen=selection(tab="", search="", after=None, author=author),
            key=ThreadKey(lead.contact_id, True),
            organisation=ORGANISATION,
            now=desk.now,
            before=before,
        )


async def thread_of(desk: Desk, lead: Lead) -> Thread:
    """Open a lead's thread."""
    async with desk.database.reading() as uow:
        opened = await open_thread(uow, key=ThreadKey(lead.contact_id, True), author=AINA, now=desk.now)
        return await load_thread(uow, opened=opened, zone="Asia/Kuala_Lumpur", now=desk.now)


@pytest.fixture
async def busy(desk: Desk) -> Desk:
    """Give an inbox with a lead of Aina's, one of Farid's, one in the pool, and one who never answered."""
    for n, (name, owner) in enumerate([("Siti Aminah", 1), ("Lim Wei", 2), ("Ravi 100%", None)]):
        lead = await desk.answering_lead(f"+6012111000{n}", name=name, text=f"Hello from {name}")
        if owner:
            await take_lead(desk.database, contact_id=lead.contact_id, user_id=owner, now=desk.now)
    await desk.lead("+60121110009", name="Never Answered")
    return desk


async def test_tabs_hold_ones_own_the_pool_and_what_one_may_see(busy: Desk) -> None:
    assert await names(busy, AINA, "mine") == ["Siti Aminah"]
    assert await names(busy, AINA, "pool") == ["Ravi 100%"]
    assert set(await names(busy, AINA, "all")) == {"Siti Aminah", "Ravi 100%"}
    assert set(await names(busy, MEI, "all")) == {"Siti Aminah", "Lim Wei", "Ravi 100%"}
    async with busy.database.reading() as uow:
        page = await load_list(
            uow,
            viewer=viewer(FARID),
            chosen=selection(tab="", search="", after=None, author=FARID),
            now=busy.now,
        )
    assert [(tab.key, tab.count, tab.is_current) for tab in page.tabs] == [
        ("mine", 1, True),
        ("pool", 1, False),
        ("all", 2, False),
    ]
    assert page.rows[0].unread == 1
    assert page.rows[0].clock is not None
    assert page.rows[0].last_text == "Hello from Lim Wei"


async def test_a_thread_that_only_the_campaign_wrote_to_is_listed_once_an_adviser_writes(busy: Desk) -> None:
    assert "Never Answered" not in await names(busy, MEI, "all")
    contact = await busy.value("SELECT id FROM contacts WHERE name = 'Never Answered'")
    template = await busy.value("SELECT id FROM templates WHERE key = 'nudge'")
    await busy.send(Lead(contact, 0, ""), TemplatePick(template, {}))
    assert "Never Answered" in await names(busy, MEI, "all")


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("siti", ["Siti Aminah"]),
        ("hello from lim", ["Lim Wei"]),
        ("100%", ["Ravi 100%"]),
        ("%", ["Ravi 100%"]),
        ("_", []),
        ("0121110001", ["Lim Wei"]),
        ("+60 12-111 0001", ["Lim Wei"]),
        ("\\", []),
        ("' OR 1=1 --", []),
        ("\x00siti", ["Siti Aminah"]),
    ],
)
async def test_search_finds_names_last_words_and_digits(busy: Desk, search: str, found: list[str]) -> None:
    assert await names(busy, MEI, "all", search) == found


async def test_pages_follow_each_other_without_gap_or_double_also_at_one_moment(desk: Desk) -> None:
    await desk.execute(
        "WITH c AS (INSERT INTO contacts (name, language, created_at, updated_at) "
        "SELECT 'Lead ' || n, 'en', :now, :now FROM generate_series(1, :count) n RETURNING id) "
        "INSERT INTO conversations (contact_id, last_message_at, last_inbound_at, last_text, created_at) "
        "SELECT id, :now, :now, 'x', :now FROM c",
        now=desk.now,
        count=2 * PAGE + 5,
    )
    seen: list[object] = []
    after: str | None = None
    for _ in range(3):
        async with desk.database.reading() as uow:
            page = await conversation_rows(
                uow, author=MEI, chosen=Selection("all", "", after), current="", now=desk.now
            )
        seen += [row.conversation_id for row in page.rows]
        after = page.next_cursor
    assert after is None
    assert len(seen) == len(set(seen)) == 2 * PAGE + 5


async def test_a_cursor_that_was_not_made_here_is_refused(desk: Desk) -> None:
    for cursor in ("x", cursor_of(("no moment", 1)), cursor_of(("2026-11-30T00:00:00", 1))):
        with pytest.raises(Invalid):
            async with desk.database.reading() as uow:
                await conversation_rows(
                    uow, author=MEI, chosen=Selection("all", "", cursor), current="", now=desk.now
                )


async def test_a_thread_tells_the_whole_story_in_order(desk: Desk) -> None:
    lead = await desk.answering_lead(text="Is Saturday possible?")
    await desk.send(lead, "Yes!")
    items = (await thread_of(desk, lead)).items
    told = [(item.kind, getattr(item, "text", getattr(item, "words", ""))) for item in items]
    assert told[0][0] == "day"
    assert told[1] == ("bubble", "Hello there, welcome to the family programme.")
    assert told.index(("bubble", "Is Saturday possible?")) < told.index(("system", "Campaign paused"))
    assert ("system", "Handed to a person") in told
    assert ("system", "Aina Rahman takes care") in told
    last = next(item for item in items if isinstance(item, Bubble) and item.text == "Yes!")
    assert (last.way, last.state, last.source) == ("out", "queued", "Aina Rahman")


async def test_days_are_the_readers(desk: Desk) -> None:
    lead = await desk.answering_lead()
    desk.now += timedelta(hours=14, minutes=45)  # 00:15 in Kuala Lumpur, still Monday in UTC
    await desk.send(lead, "Good night.")
    async with desk.database.reading() as uow:
        opened = await open_thread(uow, key=ThreadKey(lead.contact_id, True), author=AINA, now=desk.now)
        local = await load_thread(uow, opened=opened, zone="Asia/Kuala_Lumpur", now=desk.now)
        utc = await load_thread(uow, opened=opened, zone="UTC", now=desk.now)
    assert [item.kind for item in local.items].count("day") == 2
    assert [item.kind for item in utc.items].count("day") == 1


async def test_media_answers_and_places_are_shown_as_what_they_are(desk: Desk) -> None:
    lead = await desk.answering_lead()
    await desk.execute(
        "INSERT INTO messages (contact_id, direction, channel, kind, text, media, extra, replied_to, at) VALUES "
        "(:id, 'in', 'whatsapp', 'image', 'our kids', '[{\"url\": \"x\"}]', '{}', NULL, :at), "
        "(:id, 'in', 'whatsapp', 'location', '', '[]', CAST(:place AS jsonb), NULL, :at), "
        "(:id, 'in', 'whatsapp', 'hologram', '', '[]', '{}', :sid, :at)",
        id=lead.contact_id,
        at=desk.now,
        place='{"location": {"latitude": 3.1, "longitude": 101.6, "label": "", "address": "Jalan 1"}}',
        sid=await desk.value("SELECT provider_message_id FROM send_attempts"),
    )
    bubbles = [item for item in (await thread_of(desk, lead)).items if isinstance(item, Bubble)][-3:]
    assert [(b.media[0].label, b.media[0].detail, b.text) for b in bubbles] == [
        ("Photo", "", "our kids"),
        ("Place", "Jalan 1", ""),
        ("A kind of message that cannot be shown here", "", ""),
    ]
    assert bubbles[2].reply_to.startswith("Hello")


async def test_a_long_thread_comes_in_pages(desk: Desk) -> None:
    lead = await desk.answering_lead()
    await desk.execute(
        "INSERT INTO messages (contact_id, direction, channel, kind, text, at) "
        "SELECT :id, 'in', 'whatsapp', 'text', 'm' || n, :at FROM generate_series(1, 70) n",
        id=lead.contact_id,
        at=desk.now,
    )
    thread = (await page_of(desk, lead)).thread
    assert thread is not None
    assert thread.older_url is not None
    newest = [item.text for item in thread.items if isinstance(item, Bubble)]
    cursor = thread.older_url.partition("before=")[2]
    older = (await page_of(desk, lead, before=cursor)).thread
    assert older is not None
    oldest = [item.text for item in older.items if isinstance(item, Bubble)]
    assert len(newest) == 60
    assert len(oldest) == 12
    assert not set(newest) & set(oldest)
    assert older.older_url is None


async def test_messages_to_those_merged_into_a_lead_stand_in_their_thread(desk: Desk) -> None:
    lead = await desk.answering_lead()
    twin = await desk.answering_lead("+60121110002", text="It is me too")
    cousin = await add_lead(desk.database, phone="+60121110003")
    for merged, survivor in ((twin, lead), (cousin, twin)):
        await desk.execute(
            "UPDATE contacts SET merged_into = :into WHERE id = :id",
            into=survivor.contact_id,
            id=merged.contact_id,
        )
    texts = [item.text for item in (await thread_of(desk, cousin)).items if isinstance(item, Bubble)]
    assert {"It is me too", "Is Saturday possible?"} <= set(texts)


async def test_the_composer_fills_templates_from_the_lead_in_their_language_first(desk: Desk) -> None:
    lead = await desk.answering_lead()
    await desk.execute(
        "INSERT INTO templates (key, channel, language, name, moment, body, variables, content_sid, approval) VALUES "
        "('nudge', 'whatsapp', 'ms', 'Ajakan', 'x', 'Hai {{1}}, {{2}}.', CAST(:variables AS jsonb), 'HX9', "
        "  'approved'), "
        "('zz', 'whatsapp', 'ms', 'Pending', 'x', 'Hai.', '[]', 'HX8', 'pending')",
        variables='[{"name": "1", "source": "lead.first_name", "fallback": "di sana"}, '
        '{"name": "2", "source": "organisation"}]',
    )
    await desk.execute("UPDATE contacts SET language = 'ms' WHERE id = :id", id=lead.contact_id)
    async with desk.database.reading() as uow:
        opened = await open_thread(uow, key=ThreadKey(lead.contact_id, True), author=AINA, now=desk.now)
        composer = await load_composer(uow, opened=opened, organisation=ORGANISATION)
    assert composer.mode == "free"
    assert composer.window_closes_at is not None
    first = composer.templates[0]
    assert (first.name, first.language) == ("Ajakan", "Malay")
    assert "".join(part.text for part in first.parts) == "Hai Siti, Keluarga Cerdas."
    assert [v.label for v in first.variables] == ["First name", "Organisation"]
    assert [template.name for template in composer.templates].count("Pending") == 0
    assert len(composer.templates) == 4


async def test_the_panel_says_where_a_lead_stands(desk: Desk) -> None:
    lead = await desk.answering_lead()
    async with desk.database.reading() as uow:
        panel = await load_panel(uow, contact_id=lead.contact_id, zone="Asia/Kuala_Lumpur", now=desk.now)
    facts = {fact.label: fact.value for fact in panel.facts}
    assert (panel.stage, panel.position) == ("Engaged", "Message 1 of 3")
    assert facts["Campaign"] == "Enquiry to visit, paused"
    assert facts["Owner"] == "Pool"
    assert facts["Consent"] == "WhatsApp"
    assert facts["Phone"] == "+60 12-•••• 0001"
    assert panel.next_step == "Nothing is sent by the campaign while a person talks with them."
    assert panel.timeline[0].is_latest


async def test_the_panel_names_the_next_planned_message(desk: Desk) -> None:
    lead = await desk.lead()
    async with desk.database.reading() as uow:
        panel = await load_panel(uow, contact_id=lead.contact_id, zone="Asia/Kuala_Lumpur", now=desk.now)
    assert panel.next_step.startswith("Next: nudge, Wed 2 Dec 09:0")


async def test_a_colleagues_lead_is_not_there_for_an_adviser(busy: Desk) -> None:
    contact = await busy.value("SELECT id FROM contacts WHERE name = 'Lim Wei'")
    with pytest.raises(NotFound):
        await page_of(busy, Lead(contact, 0, ""), author=AINA)
    page = await page_of(busy, Lead(contact, 0, ""), author=MEI)
    assert page.head is not None
    assert (page.head.owner_name, page.head.can_assign, page.head.can_take) == ("Farid Osman", True, False)


async def test_reading_marks_only_what_was_seen(desk: Desk) -> None:
    lead = await desk.answering_lead()
    seen = await desk.version(lead)
    await say(desk.database, phone=lead.phone, text="And?", now=desk.now, number=2)
    for version, unread in ((seen, 2), (seen + 1, 0)):
        async with desk.database.transaction() as uow:
            await mark_read(uow, contact_id=lead.contact_id, seen_version=version, outlets=desk.outlets)
        assert await desk.value("SELECT unread FROM conversations") == unread
    assert desk.listener.pushed == ["inbox"]


async def test_statements_do_not_grow_with_rows(busy: Desk) -> None:
    contact = await busy.value("SELECT id FROM contacts WHERE name = 'Siti Aminah'")
    lead = Lead(contact, 0, "+60121110000")
    with counting(busy) as few:
        await page_of(busy, lead)
    for n in range(8):
        await say(busy.database, phone=lead.phone, text=f"Again {n}", now=busy.now, number=10 + n)
        await busy.answering_lead(f"+6012222000{n}", name=f"Another {n}")
    with counting(busy) as many:
        await page_of(busy, lead)
    assert len(many) == len(few)
    assert len(many) <= 12
