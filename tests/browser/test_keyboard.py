"""The queue and the composer by keyboard alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from playwright.async_api import Error, Page, Route, expect

from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

LEAD, PHONE = "Ms Grace Wong", "+60120006120"
SignIn = Callable[..., Awaitable[Page]]


@pytest.fixture
async def page(product: Product, sign_in: SignIn) -> Page:
    """Give the manager's queue, whose keys are all of use."""
    opened = await sign_in("Suraya Daud")
    await expect(opened.locator("#live")).to_contain_text("Live")
    return opened


async def test_j_and_k_move_and_enter_opens(page: Page) -> None:
    rows = page.locator("[data-row]")
    ids = [await rows.nth(n).get_attribute("id") for n in range(3)]
    for key, expected in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        await page.keyboard.press(key)
        assert await row_in_focus(page) == ids[expected]
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/leads/{str(ids[1]).removeprefix('lead-')}")


async def test_moving_shows_the_lead_beside_the_list(page: Page) -> None:
    await page.keyboard.press("j")
    lead = str(await row_in_focus(page)).removeprefix("lead-")
    await expect(page.locator(f"#lead-panel #panel-{lead}")).to_be_visible()


async def test_the_lead_in_focus_is_shown_though_the_one_before_answers_later(page: Page) -> None:
    late, asked = asyncio.Event(), asyncio.Event()
    rows = page.locator("[data-row]")
    first, second = [str(await rows.nth(n).get_attribute("id")).removeprefix("lead-") for n in range(2)]

    async def hold(route: Route) -> None:
        asked.set()
        await late.wait()
        with suppress(Error):  # the page may have given it up
            await route.continue_()

    await page.route(f"**/leads/{first}/panel", hold)
    await page.keyboard.press("j")
    await asked.wait()
    await page.keyboard.press("j")
    await expect(page.locator(f"#lead-panel #panel-{second}")).to_be_visible()
    late.set()
    await page.unroute_all(behavior="wait")
    await page.wait_for_load_state("networkidle")
    await expect(page.locator(f"#lead-panel #panel-{second}")).to_be_visible()


async def test_r_replies_to_the_lead_in_focus(page: Page) -> None:
    row = page.locator("[data-row]", has_text=LEAD)
    await row.locator(".row-link").focus()
    await page.keyboard.press("r")
    await page.wait_for_url("**/inbox/*")
    await expect(page.get_by_role("heading", name=LEAD, level=1)).to_be_visible()


@pytest.mark.parametrize(("key", "title"), [("e", "How did it end"), ("a", "Who takes")])
async def test_a_dialog_opens_by_its_key_and_escape_gives_the_focus_back(
    page: Page, key: str, title: str
) -> None:
    row = page.locator("[data-row]", has_text=LEAD)
    await row.locator(".row-link").focus()
    await page.keyboard.press(key)
    dialog = page.get_by_role("dialog", name=title)
    await expect(dialog).to_be_visible()
    await page.keyboard.press("j")  # in a dialog no key of the list acts
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    assert await row_in_focus(page) == await row.get_attribute("id")


async def test_the_question_mark_lists_the_keys_and_escape_gives_the_focus_back(page: Page) -> None:
    await page.keyboard.press("j")
    before = await row_in_focus(page)
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await page.keyboard.press("Escape")
    assert await row_in_focus(page) == before


async def test_single_letters_can_be_switched_off_for_good(page: Page) -> None:
    """WCAG 2.1.4."""
    await page.keyboard.press("?")
    await page.get_by_role("switch", name="Single-letter keys").uncheck()
    await page.keyboard.press("Escape")
    for _ in ("now", "after a reload"):
        await page.keyboard.press("j")
        assert await row_in_focus(page) is None
        await page.reload()
        await expect(page.locator("[data-row]").first).to_be_visible()


async def test_letters_in_a_field_are_only_letters(page: Page, product: Product) -> None:
    await page.goto(f"{product.url}/inbox?tab=all")
    search = page.get_by_role("searchbox", name="Search conversations")
    await search.press_sequentially("jerka?")
    await expect(search).to_have_value("jerka?")
    assert page.url.endswith("/inbox?tab=all")


async def test_choosing_a_stage_filters_at_once_and_keeps_the_focus(page: Page) -> None:
    choice = page.get_by_label("Stage")
    await choice.focus()
    await choice.select_option("booked")
    await expect(page).to_have_url(re.compile("stage=booked"))
    await expect(page.locator("#queue-rows")).not_to_contain_text(LEAD)
    await expect(choice).to_be_focused()
    await page.evaluate(
        "htmx.trigger(document.body, 'resync', {})"
    )  # what comes in later stays in the filter
    await page.wait_for_load_state("networkidle")
    await expect(page.locator("#queue-rows")).not_to_contain_text(LEAD)
    await page.reload()
    await expect(choice).to_have_value("booked")


async def test_control_and_enter_send(product: Product, sign_in: SignIn) -> None:
    await product.lead_writes(PHONE, "Which day is better, Tuesday or Friday?")
    page = await sign_in("Nadia Rashid")
    await page.goto(f"{product.url}/inbox?tab=all")
    await page.get_by_role("link", name=LEAD).click()
    text = page.get_by_role("textbox", name="Message to")
    await text.fill("Friday,")
    await text.press("End")
    await text.press("Enter")  # alone it begins a new line
    await text.press_sequentially("after school.")
    await text.press("Control+Enter")
    await expect(page.get_by_role("log").get_by_text("after school.")).to_be_visible()
    await expect(text).to_have_value("")
    await expect(text).to_be_focused()
    await product.has_received(PHONE, "Friday,\nafter school.")


async def row_in_focus(page: Page) -> str | None:
    """Return the id of the row that holds the focus."""
    found: str | None = await page.evaluate("document.activeElement.closest('[data-row]')?.id ?? null")
    return found
