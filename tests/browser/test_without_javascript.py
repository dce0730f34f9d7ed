"""Every step of the main job as plain form posts, in a browser that runs no script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

LEAD, PHONE = "Ms Grace Wong", "+60120006120"
CLOSING_LEAD = "Encik Hafiz Zulkifli"
LIST = b"Name,Phone,Consent WhatsApp\nPuan Salmah Demo,+60120009801,yes\n"
SignIn = Callable[..., Awaitable[Page]]


async def test_an_adviser_reads_the_queue_replies_and_logs_an_outcome(
    product: Product, sign_in: SignIn
) -> None:
    await product.lead_writes(PHONE, "One more thing: where do we park?")
    page = await sign_in("Nadia Rashid", java_script_enabled=False)
    row = page.locator("[data-row]", has_text=LEAD)
    await expect(row.locator("[data-clock-text]")).not_to_be_empty()  # the server's own text

    await page.get_by_label("Stage").select_option("booked")
    await page.get_by_role("button", name="Show").click()
    await expect(row).to_have_count(0)
    await page.get_by_role("link", name="All").click()

    await page.goto(f"{product.url}/inbox?tab=all")
    await page.get_by_role("link", name=LEAD).click()
    await page.get_by_role("textbox", name="Message to").fill("Behind the house, entrance B.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("log").get_by_text("Behind the house, entrance B.")).to_be_visible()
    await product.has_received(PHONE, "Behind the house, entrance B.")

    await page.goto(f"{product.url}/leads?q={CLOSING_LEAD.replace(' ', '+')}")
    await page.get_by_role("link", name=CLOSING_LEAD).click()
    await page.locator("#lead-status").get_by_role("button", name="Log outcome").click()
    await expect(page.get_by_role("heading", name="Log outcome")).to_be_visible()
    await page.get_by_role("radio", name="Won").check()
    await page.get_by_role("button", name="Log outcome").click()
    await page.goto(f"{product.url}/queue")
    await expect(page.get_by_role("link", name=CLOSING_LEAD)).to_have_count(0)


async def test_a_marketer_imports_a_list(product: Product, sign_in: SignIn) -> None:
    page = await sign_in("Daniel Lim", java_script_enabled=False)
    await page.goto(f"{product.url}/imports")
    file = FilePayload(name="plain.csv", mimeType="text/csv", buffer=LIST)
    await page.get_by_label("Choose a CSV file").set_input_files(file)
    await page.get_by_role("button", name="Upload and check").click()
    await page.get_by_role("button", name="Import into").click()
    for _ in range(40):
        if await page.locator("[data-status=done]").count():
            break
        await asyncio.sleep(0.5)
        await page.reload()
    await expect(page.locator("#count-enrolled")).to_have_text("1")


async def test_an_ended_session_asks_to_sign_in_and_leads_back(product: Product, sign_in: SignIn) -> None:
    page = await sign_in("Nadia Rashid", java_script_enabled=False)
    await page.context.clear_cookies()
    await page.goto(f"{product.url}/inbox")
    await page.get_by_role("button", name="Nadia Rashid").click()
    await expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
