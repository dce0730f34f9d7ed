"""What two people and a lead do at the same time, as each browser sees it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

LEAD, PHONE = "Ms Grace Wong", "+60120006120"
NEW_LEAD, NEW_PHONE = "Puan Zaleha Omar", "+60120008833"
SignIn = Callable[..., Awaitable[Page]]


async def test_a_lead_given_to_one_is_not_among_the_others_own(product: Product, sign_in: SignIn) -> None:
    pages = [await sign_in(name) for name in ("Nadia Rashid", "Farid Osman", "Tan Mei Chen")]
    for page in pages:
        await page.goto(f"{product.url}/inbox?tab=mine")
        await expect(page.locator("#live")).to_contain_text("Live")
    before = [await page.locator("#inbox-list li").count() for page in pages]
    await product.lead_writes(NEW_PHONE, "Bolehkah kami datang hari Sabtu?")
    shown = await until_one_shows(pages)
    assert sorted(shown) == [0, 0, 1]
    await asyncio.sleep(1)  # time for a push that would be wrong
    assert [await of_the_new_lead(page) for page in pages] == shown
    after = [await page.locator("#inbox-list li").count() for page in pages]
    assert [a - b for a, b in zip(after, before, strict=True)] == shown


async def test_a_message_comes_in_beside_a_draft_and_an_answer_over_it_is_refused(
    product: Product, sign_in: SignIn
) -> None:
    page = await conversation(product, sign_in)
    text = page.get_by_role("textbox", name="Message to")
    await text.fill("See you on Saturday.")
    await product.lead_writes(PHONE, "Sorry, Sunday after all.")
    await expect(page.get_by_role("log").get_by_text("Sorry, Sunday after all.")).to_be_visible()
    await expect(text).to_have_value("See you on Saturday.")
    await expect(page.get_by_text("wrote again: read first.")).to_be_visible()

    async with page.expect_response(re.compile(r"/messages$")) as refused:
        await page.get_by_role("button", name="Send").click()
    assert (await refused.value).status == 409
    await expect(page.locator("#composer-note").get_by_role("alert")).to_be_visible()
    await expect(text).to_have_value("See you on Saturday.")

    await text.fill("Sunday is fine too.")  # read, and written anew
    await page.get_by_role("button", name="Send").click()
    await expect(text).to_have_value("")
    await product.has_received(PHONE, "Sunday is fine too.")
    assert "See you on Saturday." not in [m["body"] for m in await product.received(PHONE)]


async def test_a_draft_is_there_after_a_reload(product: Product, sign_in: SignIn) -> None:
    page = await conversation(product, sign_in)
    await page.get_by_role("textbox", name="Message to").fill("Half a thou")
    await page.reload()
    await expect(page.get_by_role("textbox", name="Message to")).to_have_value("Half a thou")
    await page.get_by_role("textbox", name="Message to").fill("")


async def test_a_text_too_long_for_one_message_is_kept_whole_and_said(
    product: Product, sign_in: SignIn
) -> None:
    page = await conversation(product, sign_in)
    text, length = page.get_by_role("textbox", name="Message to"), page.locator("#composer-length")
    await text.fill("a" * 1700)
    await expect(length).to_have_text("100 too many for one message")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("#composer-note").get_by_role("alert")).to_contain_text("1,700 characters")
    await expect(text).to_have_value("a" * 1700)
    await text.fill("a" * 1550)
    await expect(length).to_have_text("50 characters left")
    await text.fill("")
    await expect(length).to_be_empty()


async def test_A07_a_double_click_on_send_is_one_message(product: Product, sign_in: SignIn) -> None:
    page = await conversation(product, sign_in)
    text = page.get_by_role("textbox", name="Message to")
    await text.fill("One of these is enough.")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(text).to_have_value("")
    await product.has_received(PHONE, "One of these is enough.", times=1)
    await expect(page.get_by_role("log").get_by_text("One of these is enough.")).to_have_count(1)


async def test_a_cut_connection_is_said_and_heals_with_what_was_missed(
    product: Product, sign_in: SignIn
) -> None:
    page = await sign_in("Nadia Rashid", with_trouble=True)
    cable = Cable()
    await page.route_web_socket(re.compile("/socket.io/"), cable.plug)
    await page.goto(f"{product.url}/queue")
    live = page.locator("#live")
    await expect(live).to_contain_text("Live")

    await cable.cut()
    await expect(live).to_contain_text("Reconnecting")
    await product.lead_writes(PHONE, "Are you still there?")
    row = page.locator("[data-row]", has_text=LEAD)
    await expect(row).not_to_contain_text("Are you still there?")

    cable.mend()
    await expect(live).to_have_text("Live", timeout=15_000)
    await expect(row).to_contain_text("Are you still there?")


class Cable:
    """The way of a page's socket, which a test can cut and mend."""

    def __init__(self) -> None:
        self.is_whole = True
        self.sockets: list[WebSocketRoute] = []

    async def plug(self, socket: WebSocketRoute) -> None:
        """Let a socket through, or close it while the cable is cut."""
        if not self.is_whole:
            await socket.close()
            return
        socket.connect_to_server()
        self.sockets.append(socket)

    async def cut(self) -> None:
        """Close what is open; nothing comes through any more."""
        self.is_whole = False
        for socket in self.sockets:
            await socket.close()
        self.sockets.clear()

    def mend(self) -> None:
        """Let sockets through again."""
        self.is_whole = True


async def conversation(product: Product, sign_in: SignIn) -> Page:
    """Open the conversation with a lead who has just written, and wait until the page hears of changes."""
    await product.lead_writes(PHONE, "Hello again")
    page = await sign_in("Nadia Rashid")
    await page.goto(f"{product.url}/inbox?tab=all")
    await page.get_by_role("link", name=LEAD).click()
    await expect(page.locator("#composer")).to_be_visible()
    await expect(page.locator("#live")).to_contain_text("Live")
    return page


async def until_one_shows(pages: list[Page]) -> list[int]:
    """Wait until some page lists the new lead; return how many rows each has of it."""
    for _ in range(100):
        shown = [await of_the_new_lead(page) for page in pages]
        if any(shown):
            return shown
        await asyncio.sleep(0.1)
    raise AssertionError("nobody got the lead")


async def of_the_new_lead(page: Page) -> int:
    return await page.locator("#inbox-list li", has_text=NEW_LEAD).count()
