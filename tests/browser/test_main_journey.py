"""The main job in a real browser: a lead answers, the adviser sees it live, answers, and the machine stays quiet."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

LEAD, PHONE = "Ms Chloe Tan", "+60160001250"
SignIn = Callable[..., Awaitable[Page]]


async def test_a_reply_becomes_a_conversation_and_the_machine_stays_quiet(
    product: Product, browser: Browser, sign_in: SignIn
) -> None:
    for colleague in ("Farid Osman", "Tan Mei Chen"):
        await stop_taking_leads(await sign_in(colleague))
    nadia = await sign_in("Nadia Rashid")
    await expect(nadia.get_by_role("heading", name="Queue")).to_be_visible()
    await expect(nadia.locator("#live")).to_contain_text("Live")
    await expect(nadia.get_by_role("link", name=LEAD)).to_have_count(0)
    before = len(await product.received(PHONE))
    assert before >= 1

    phone = await (await browser.new_context(viewport={"width": 390, "height": 800})).new_page()
    await phone.goto(f"{product.simulator_url}/phone/{PHONE}")
    await say(phone, "Saturday suits us. Is there a place?")

    row = nadia.locator("#queue-rows li, #queue-list li", has_text=LEAD).first
    await expect(row).to_be_visible(timeout=10_000)  # without a reload
    clock = row.locator("[data-due]").first
    await expect(clock).to_have_text(re.compile(r"\d+:\d\d"))
    first = await clock.inner_text()
    await expect(clock).not_to_have_text(first, timeout=5_000)  # it runs

    await row.get_by_role("link", name=LEAD).click()
    await expect(nadia.get_by_role("heading", name=LEAD)).to_be_visible()
    await nadia.goto(f"{product.url}/inbox")
    await nadia.get_by_role("link", name=LEAD).first.click()
    await nadia.get_by_role("textbox", name=re.compile("Message|Reply")).fill(
        "Yes, 10:00 is free. Shall I book you in?"
    )
    await nadia.get_by_role("button", name="Send").click()

    await expect(phone.get_by_role("log").get_by_text("Yes, 10:00 is free.")).to_be_visible(timeout=15_000)
    await nadia.goto(f"{product.url}/queue")
    answered = nadia.locator("#queue-rows li, #queue-list li", has_text=LEAD).first
    await expect(answered).to_contain_text(re.compile("Their turn|Waiting"))

    await answered.get_by_role("link", name=LEAD).click()
    journey = nadia.locator("#journey")
    for words in ("Lead answered", "Campaign paused", "Handed to a person", "Nadia Rashid"):
        await expect(journey.get_by_text(words).first).to_be_visible()

    mine = len(await product.received(PHONE))
    assert mine == before + 1
    await let_days_pass(nadia, 14)
    await until_the_machine_rests(product)
    assert len(await product.received(PHONE)) == mine
    checked = product.warmline("check", "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert json.loads(checked.stdout.splitlines()[-1])["violations"] == 0


async def say(phone: Page, text: str) -> None:
    """Write a message on the lead's phone."""
    await phone.get_by_role("textbox", name=re.compile("Message", re.IGNORECASE)).first.fill(text)
    await phone.get_by_role("button", name="Send").first.click()
    await expect(phone.get_by_role("log").get_by_text(text)).to_be_visible()


async def stop_taking_leads(page: Page) -> None:
    """Move the own switch, as somebody does who goes to lunch."""
    switch = page.get_by_role("switch", name="Taking new leads")
    await switch.uncheck()
    await expect(switch).not_to_be_checked()


async def let_days_pass(page: Page, days: int) -> None:
    """Press the demo clock's +1 day."""
    await page.get_by_role("button", name=re.compile("Demo clock")).first.click()
    for _ in range(days):
        async with page.expect_response(re.compile("/demo/clock")):
            await page.get_by_role("button", name=re.compile(r"1 day")).first.click()


async def until_the_machine_rests(product: Product) -> None:
    """Wait until no callback is under way and nothing new reaches any phone."""
    async with httpx.AsyncClient(timeout=30) as client:
        last: Any = None
        for _ in range(60):
            await client.get(f"{product.simulator_url}/control/idle", params={"within": 2})
            counts = (await client.get(f"{product.simulator_url}/control/counts")).json()
            total = sum(c["accepted"] for c in counts)
            if total == last:
                return
            last = total
    raise AssertionError("the machine did not come to rest")
