"""A lead who waits for their turn in another campaign: what the pages say, and the controls that work there.

WARMLINE_PICTURES=1 leaves pictures in test-results/screens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Product
from tests.browser.test_accessibility import (
    AXE,
    COLOURS,
    LOOKS,
    PICTURES,
    WITH_PICTURES,
    barriers,
    sideways_scroll,
)

pytestmark = pytest.mark.browser

LEAD, NUMBER = "Puan Salmah Waiting", "+60120007701"
SignIn = Callable[..., Awaitable[Page]]


async def second_campaign(product: Product) -> None:
    """Make another campaign of the same programme."""
    await product.execute(
        "INSERT INTO campaigns (program_id, key, name, current_version_id) "
        "SELECT program_id, 'holiday_club', 'Holiday club', current_version_id FROM campaigns "
        "WHERE key = 'enquiry_to_visit' ON CONFLICT DO NOTHING"
    )


def bring_in(product: Product, folder: Path, *, campaign: str, name: str, number: str) -> str:
    """Import one person by command; return what it printed."""
    file = folder / f"{campaign}-{number[-4:]}.csv"
    file.write_text(f"Name,Phone,Consent WhatsApp\n{name},{number},yes\n", encoding="utf-8")
    done = product.warmline("import", str(file), "--campaign", campaign)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def open_lead(page: Page, product: Product, name: str) -> None:
    """Come to a lead by the list."""
    await page.goto(f"{product.url}/leads?q={name.replace(' ', '+')}")
    await page.get_by_role("link", name=name).click()
    await expect(page.get_by_role("heading", name="What happens next")).to_be_visible()


async def looks_right(page: Page, name: str) -> None:
    """Let axe look by day and night, at a desk and on a phone."""
    await page.emulate_media(reduced_motion="reduce")
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for theme, size in LOOKS:
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if theme == "night" else "light")
        if WITH_PICTURES:
            await page.screenshot(path=PICTURES / f"{name}-{theme}-{size['width']}.png", full_page=True)
        assert await barriers(page, rules=COLOURS if theme == "night" else None) == []
        assert not await sideways_scroll(page)
    await page.set_viewport_size(LOOKS[0][1])
    await page.emulate_media(color_scheme="light")


async def test_a_lead_waits_for_the_other_campaign_and_the_controls_work(
    product: Product, sign_in: SignIn, tmp_path: Path
) -> None:
    await second_campaign(product)
    bring_in(product, tmp_path, campaign="enquiry_to_visit", name=LEAD, number=NUMBER)
    said = bring_in(product, tmp_path, campaign="holiday_club", name=LEAD, number=NUMBER)
    assert "1  Wait for their turn" in said
    page = await sign_in("Suraya Daud", bypass_csp=True)
    await page.goto(f"{product.url}/leads?stage=waiting")
    await expect(page.get_by_role("cell", name="Waiting for its turn: Holiday club")).to_be_visible()
    await looks_right(page, "leads-waiting")
    await open_lead(page, product, LEAD)
    card = page.locator("#lead-waiting")
    await expect(card).to_contain_text("Waiting for its turn: Holiday club, after “Enquiry to visit” ends")
    await looks_right(page, "lead-waiting")
    await card.get_by_role("button", name="Try now").click()
    await expect(page.get_by_text("They wait for their turn: they are in the campaign")).to_be_visible()
    await expect(card).to_be_visible()

    await page.get_by_role("button", name="Close", exact=True).click()
    closing = page.locator("#dialog form")
    await closing.get_by_label("Lost").check()
    await closing.get_by_role("button", name="Close the journey").click()
    await expect(card).to_contain_text("not before")
    await expect(page.get_by_role("button", name="End their rest")).to_be_visible()
    await looks_right(page, "lead-resting")
    await (
        page.get_by_role("link", name="Enrol", exact=True)
        .or_(page.get_by_role("button", name="Enrol", exact=True))
        .first.click()
    )
    enrolling = page.locator("#enrolment-form")
    await enrolling.get_by_label("Campaign").select_option("enquiry_to_visit")
    await enrolling.get_by_role("button", name="Enrol").click()
    await expect(enrolling.get_by_role("alert")).to_contain_text("Not enrolled: they rest until")
    await looks_right(page, "lead-enrol-refused")
    await page.keyboard.press("Escape")

    await card.get_by_role("button", name="Enrol all the same").click()
    override = page.get_by_role("dialog", name="Enrol them in “Holiday club” now?")
    await override.get_by_label("Why?").fill("They asked for it on the phone")
    await override.get_by_role("button", name="Enrol all the same").click()
    await expect(page.get_by_text("Enrolled in “Holiday club”.")).to_be_visible()
    await expect(card).to_have_count(0)
    await expect(page.locator("#lead-timeline")).to_contain_text("They asked for it on the phone")


async def test_without_script_a_request_is_withdrawn_by_a_plain_form(
    product: Product, sign_in: SignIn, tmp_path: Path
) -> None:
    name, number = "Encik Razak Waiting", "+60120007702"
    await second_campaign(product)
    bring_in(product, tmp_path, campaign="enquiry_to_visit", name=name, number=number)
    bring_in(product, tmp_path, campaign="holiday_club", name=name, number=number)
    page = await sign_in("Suraya Daud", java_script_enabled=False)
    await open_lead(page, product, name)
    await page.locator("#lead-waiting").get_by_role("button", name="Withdraw").click()
    dialog = page.get_by_role("dialog", name="Let them wait no more for “Holiday club”?")
    await dialog.get_by_label("Why?").fill("They are too old for it")
    await dialog.get_by_role("button", name="Withdraw").click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()
    await expect(page.locator("#lead-waiting")).to_have_count(0)
    await expect(page.locator("#lead-timeline")).to_contain_text("They are too old for it")
