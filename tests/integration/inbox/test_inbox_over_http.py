"""The inbox through the whole application: pages, live parts, forms with and without script."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from app.config import Settings
from tests.factories.journeys import MONDAY, Lead, add_lead, found_organisation, say, send_due, take_lead
from tests.fixtures.site import PASSWORD, Browser, Site, running_site

HTMX = {"HX_Request": "true"}
VERSION = re.compile(r'name="conversation_version" value="(\d+)"')
ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "'\"><script>alert(1)</script>",
)


NOW: datetime = MONDAY + timedelta(minutes=30)


@pytest.fixture(scope="module")
async def module_site(module_settings: Settings) -> AsyncIterator[Site]:
    async with running_site(module_settings) as site:
        yield site


@pytest.fixture
async def site(module_site: Site) -> Site:
    await module_site.begin_anew()
    await found_organisation(module_site.database)
    async with module_site.database.transaction() as uow:
        await uow.execute(
            "INSERT INTO demo_clock (id, real_base, demo_base, rate) VALUES (1, clock_timestamp(), :at, 0)",
            {"at": NOW},
        )
        await uow.execute(
            "INSERT INTO users (id, email, name, role, password_hash) "
            "VALUES (4, 'mark@example.test', 'Mark Lee', 'marketer', 'x')"
        )
        hashed = await module_site.passwords.hash(PASSWORD)
        await uow.execute("UPDATE users SET password_hash = :hash", {"hash": hashed})
        await uow.execute("NOTIFY demo_clock")
    return module_site


async def answering(site: Site, text: str = "Is Saturday possible?", *, owner: int = 1) -> Lead:
    """Make a lead of an adviser's who wrote to us."""
    lead = await add_lead(site.database, phone="+60121110001", name="Siti Aminah")
    await send_due(site.database, now=MONDAY + timedelta(minutes=1))
    await say(site.database, phone=lead.phone, text=text, now=MONDAY + timedelta(minutes=20))
    await take_lead(
        site.database, contact_id=lead.contact_id, user_id=owner, now=MONDAY + timedelta(minutes=21)
    )
    return lead


async def conversation(site: Site) -> int:
    """Return the id of the one conversation."""
    return await site.count("SELECT id FROM conversations")


async def written(browser: Browser, page: str, text: str, **fields: str) -> dict[str, str]:
    """Return the fields of the composer's form as they stand on a page."""
    html = (await browser.get(page)).text
    version = VERSION.search(html)
    assert version, html
    return {
        "csrf_token": await browser.token(page),
        "client_id": str(uuid4()),
        "conversation_version": version[1],
        "text": text,
        **fields,
    }


async def test_the_page_shows_the_list_the_thread_the_composer_and_the_lead(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    listed = await browser.get("/inbox")
    assert listed.status_code == 200
    assert "Siti Aminah" in listed.text
    path = f"/inbox/{await conversation(site)}"
    page = await browser.get(path)
    assert page.status_code == 200
    for words in (
        "Is Saturday possible?",
        "Free replies close in",
        "Enquiry to visit, paused",
        "Aina Rahman",
    ):
        assert words in page.text
    for part in ("thread", "head", "composer"):
        answer = await browser.get(f"{path}/{part}", **HTMX)
        assert (answer.status_code, "<html" in answer.text) == (200, False)
    assert (await browser.get("/inbox/list?opened=1", **HTMX)).status_code == 200


async def test_a_plain_form_sends_and_comes_back_to_the_thread(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    answer = await browser.post(f"{path}/messages", await written(browser, path, "Yes, at ten."))
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    assert "Yes, at ten." in (await browser.get(path)).text


async def test_A07_the_same_form_sent_twice_is_one_bubble(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    form = await written(browser, path, "Yes, at ten.")
    answers = [await browser.post(f"{path}/messages", form, **HTMX) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [204, 204]
    assert await site.count("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 1
    assert (await browser.get(f"{path}/thread", **HTMX)).text.count("Yes, at ten.") == 1


async def test_a_stale_form_comes_back_with_the_draft_and_what_is_new(site: Site) -> None:
    lead = await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    form = await written(browser, path, "Saturday <it> is.")
    await say(site.database, phone=lead.phone, text="No, Sunday!", now=NOW, number=2)
    note = await browser.post(f"{path}/messages", form, **HTMX)
    assert (note.status_code, "newer message" in note.text) == (409, True)
    page = await browser.post(f"{path}/messages", form)
    assert page.status_code == 409
    assert "Saturday &lt;it&gt; is.</textarea>" in page.text
    assert "No, Sunday!" in page.text
    assert await site.count("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 0


async def test_what_cannot_be_sent_is_said_in_words_beside_the_composer(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    note = await browser.post(f"{path}/messages", await written(browser, path, "x" * 1601), **HTMX)
    assert (note.status_code, "at most 1,600" in note.text) == (422, True)


async def test_G01_after_the_window_the_composer_offers_templates_and_free_text_is_refused(
    site: Site,
) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    form = await written(browser, path, "Still there?")
    async with site.database.transaction() as uow:
        await uow.execute(
            "UPDATE conversations SET whatsapp_inbound_at = :at", {"at": NOW - timedelta(days=1)}
        )
    thread = (await browser.get(f"{path}/thread", **HTMX)).text
    assert 'data-mode="template"' in thread
    composer = (await browser.get(f"{path}/composer", **HTMX)).text
    assert "The reply window is closed." in composer
    assert 'name="text"' not in composer
    note = await browser.post(f"{path}/messages", form, **HTMX)
    assert (note.status_code, "approved template" in note.text) == (422, True)
    pick = await site.count("SELECT id FROM templates WHERE key = 'nudge'")
    form = await written(browser, path, "", template_id=str(pick), **{"variable.1": "Siti"})
    assert (await browser.post(f"{path}/messages", form, **HTMX)).status_code == 204
    assert "Hello Siti, would you like to see a class?" in (await browser.get(path)).text


@pytest.mark.parametrize("attack", ATTACKS)
async def test_W01_what_a_lead_writes_is_text_everywhere(site: Site, attack: str) -> None:
    lead = await answering(site, attack)
    async with site.database.transaction() as uow:
        await uow.execute(
            "UPDATE contacts SET name = :name WHERE id = :id", {"name": attack, "id": lead.contact_id}
        )
    browser = await site.signed_in("aina@example.test")
    page = (await browser.get(f"/inbox/{await conversation(site)}")).text
    for live in ("<img src=x", "<svg/onload", "<script>alert", 'href="javascript:'):
        assert live not in page
    escaped = attack.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert escaped.replace('"', "&#34;").replace("'", "&#39;") in page


async def test_opening_marks_as_read_by_a_post_of_its_own(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    assert f'hx-post="{path}/read"' in (await browser.get(path)).text
    assert await site.count("SELECT unread FROM conversations") == 1
    form = {"csrf_token": await browser.token(path), "conversation_version": "1"}
    assert (await browser.post(f"{path}/read", form, **HTMX)).status_code == 204
    assert await site.count("SELECT unread FROM conversations") == 0
    assert f'hx-post="{path}/read"' not in (await browser.get(path)).text


async def test_a_lead_without_a_thread_is_written_to_by_their_own_address(site: Site) -> None:
    lead = await add_lead(site.database, phone="+60121110007", name="Tan Mei")
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/lead-{lead.contact_id}"
    pick = await site.count("SELECT id FROM templates WHERE key = 'welcome'")
    form = await written(browser, path, "", template_id=str(pick), **{"variable.1": "Mei"})
    assert (await browser.post(f"{path}/messages", form)).status_code == 303
    assert "Hello Mei, welcome to the family programme." in (await browser.get(path)).text


async def test_other_peoples_leads_and_other_roles_are_kept_out(site: Site) -> None:
    await answering(site, owner=2)
    path = f"/inbox/{await conversation(site)}"
    aina = await site.signed_in("aina@example.test")
    mark = await site.signed_in("mark@example.test")
    for part in ("", "/thread", "/head", "/composer"):
        assert (await aina.get(path + part)).status_code == 404
        assert (await mark.get(path + part)).status_code == 403
    form = {
        "csrf_token": await aina.token("/inbox"),
        "client_id": str(uuid4()),
        "conversation_version": "9",
        "text": "x",
    }
    assert (await aina.post(f"{path}/messages", form)).status_code == 404
    assert (await aina.post(f"{path}/messages", {**form, "csrf_token": "forged"})).status_code == 403
    assert (await aina.get("/inbox/1%27%20OR%201=1")).status_code == 404
    assert (await aina.get("/inbox?after=forged")).status_code == 422
    assert await site.count("SELECT count(*) FROM sends WHERE kind = 'adviser'") == 0


async def test_a_retry_that_is_refused_says_so(site: Site) -> None:
    await answering(site)
    browser = await site.signed_in("aina@example.test")
    path = f"/inbox/{await conversation(site)}"
    await browser.post(f"{path}/messages", await written(browser, path, "Yes."))
    message = await site.count(
        "SELECT m.id FROM messages m JOIN sends s ON s.id = m.send_id WHERE s.kind = 'adviser'"
    )
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE sends SET status = 'sending' WHERE kind = 'adviser'")
        await uow.execute("UPDATE sends SET status = 'unknown' WHERE kind = 'adviser'")
    assert "We do not know yet whether it arrived" in (await browser.get(path)).text
    token = await browser.token(path)
    answer = await browser.post(f"{path}/messages/{message}/retry", {"csrf_token": token}, **HTMX)
    assert (answer.status_code, "We do not know yet" in answer.text) == (409, True)
