"""Every screen by day and night, at a desk and on a phone: no barrier that axe finds, no error, no sideways scroll.

WARMLINE_PICTURES=1 leaves a picture of each in test-results/screens.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from app.config import PROJECT_ROOT
from tests.browser.conftest import Product, note_errors

pytestmark = pytest.mark.browser

AXE = PROJECT_ROOT / "node_modules" / "axe-core" / "axe.min.js"
PICTURES = PROJECT_ROOT / "test-results" / "screens"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
DESK, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
LOOKS = (("day", DESK), ("night", DESK), ("day", PHONE), ("night", PHONE))
WITH_PICTURES = os.environ.get("WARMLINE_PICTURES") == "1"
COLOURS = ["color-contrast", "link-in-text-block"]
"""What night may change: it brings other colours, no other markup."""
NADIA, SURAYA, DANIEL, NOBODY = "Nadia Rashid", "Suraya Daud", "Daniel Lim", ""

OPEN_LEAD, OPEN_PHONE = "Ms Grace Wong", "+60120006120"
CLOSED_LEAD = "Mdm Lim Hui Min"
NEW_LEADS = b"""Name,Phone,Email,Consent WhatsApp
Puan Rozita Demo,+60120009901,,yes
Encik Zamri Demo,12,,yes
,,zara@example.org,no
"""


@dataclass(slots=True)
class Seat:
    """One person's page, used for all of their screens."""

    product: Product
    page: Page
    errors: list[str] = field(default_factory=list)

    async def go(self, path: str, *, status: int = 200) -> None:
        """Open an address, of the application unless it is whole."""
        answer = await self.page.goto(path if path.startswith("http") else self.product.url + path)
        assert answer is not None
        assert answer.status == status


Open = Callable[[Seat], Awaitable[None]]


def at(path: str, *, status: int = 200) -> Open:
    """Return how to come to a screen by its address."""

    async def open_address(seat: Seat) -> None:
        await seat.go(path, status=status)

    return open_address


async def lead_page(seat: Seat) -> None:
    await seat.go(f"/leads?q={CLOSED_LEAD.replace(' ', '+')}")
    await seat.page.get_by_role("link", name=CLOSED_LEAD).click()
    await expect(seat.page.get_by_role("heading", name="What happens next")).to_be_visible()


async def conversation(seat: Seat, lead: str) -> None:
    await seat.go("/inbox?tab=all")
    await seat.page.get_by_role("link", name=lead).click()
    await expect(seat.page.locator("#composer")).to_be_visible()


async def open_conversation(seat: Seat) -> None:
    await conversation(seat, OPEN_LEAD)
    await expect(seat.page.get_by_role("textbox", name="Message to")).to_be_visible()


async def closed_conversation(seat: Seat) -> None:
    await conversation(seat, CLOSED_LEAD)
    await expect(seat.page.get_by_text("The reply window is closed.")).to_be_visible()


async def template_in_an_open_window(seat: Seat) -> None:
    await open_conversation(seat)
    await seat.page.get_by_role("button", name="Templates").click()
    await seat.page.locator("#templates summary").first.click()


async def template_in_a_closed_window(seat: Seat) -> None:
    await closed_conversation(seat)
    await seat.page.locator("#composer summary").first.click()


async def keyboard_help(seat: Seat) -> None:
    await seat.go("/queue")
    await seat.page.keyboard.press("?")
    await expect(seat.page.get_by_role("dialog", name="Keyboard")).to_be_visible()


async def dialog(seat: Seat, button: str) -> None:
    await seat.go("/queue")
    await seat.page.get_by_role("button", name=button).first.click()
    await expect(seat.page.locator("#dialog form")).to_be_visible()


async def outcome_dialog(seat: Seat) -> None:
    await dialog(seat, "Log outcome")


async def assignment_dialog(seat: Seat) -> None:
    await dialog(seat, "Assign")


async def account_menu(seat: Seat) -> None:
    await seat.go("/queue")
    await seat.page.locator("[popovertarget=more]:visible").first.click()
    await expect(seat.page.locator("#more")).to_be_visible()


async def demo_clock(seat: Seat) -> None:
    await seat.go("/queue")
    await seat.page.get_by_role("button", name="Demo clock").first.click()
    await expect(seat.page.locator("#demo-clock")).to_be_visible()


async def import_check(seat: Seat) -> None:
    await seat.go("/imports")
    await seat.page.get_by_label("Choose a CSV file").set_input_files(
        {"name": "accessibility.csv", "mimeType": "text/csv", "buffer": NEW_LEADS}
    )
    await seat.page.get_by_role("button", name="Upload and check").click()
    await expect(seat.page.get_by_role("heading", name="Check the list")).to_be_visible()


async def import_run(seat: Seat) -> None:
    await import_check(seat)
    await seat.page.get_by_role("button", name="Import into").click()
    await expect(seat.page.get_by_role("heading", name="Import of")).to_be_visible()


async def import_result(seat: Seat) -> None:
    await seat.go("/imports")
    await seat.page.get_by_role("link", name="accessibility").first.click()
    await expect(seat.page.locator("[data-status=done]")).to_be_visible(timeout=20_000)


async def phone_list(seat: Seat) -> None:
    await seat.go(f"{seat.product.simulator_url}/phone")


async def phone(seat: Seat) -> None:
    await seat.go(f"{seat.product.simulator_url}/phone/{OPEN_PHONE}")


SCREENS: dict[str, tuple[str, Open]] = {
    "sign-in": (NOBODY, at("/sign-in")),
    "queue": (NADIA, at("/queue")),
    "queue-manager": (SURAYA, at("/queue")),
    "queue-empty": (NADIA, at("/queue?stage=exited")),
    "queue-keyboard": (NADIA, keyboard_help),
    "queue-outcome": (NADIA, outcome_dialog),
    "queue-assignment": (SURAYA, assignment_dialog),
    "account-menu": (NADIA, account_menu),
    "demo-clock": (NADIA, demo_clock),
    "lead": (SURAYA, lead_page),
    "leads": (SURAYA, at("/leads")),
    "leads-none-found": (SURAYA, at("/leads?q=nobody+of+this+name")),
    "inbox": (NADIA, at("/inbox")),
    "conversation-open": (NADIA, open_conversation),
    "conversation-closed": (SURAYA, closed_conversation),
    "templates-open": (NADIA, template_in_an_open_window),
    "templates-closed": (SURAYA, template_in_a_closed_window),
    "import": (DANIEL, at("/imports")),
    "import-check": (DANIEL, import_check),
    "import-run": (DANIEL, import_run),
    "import-result": (DANIEL, import_result),
    "error-403": (NADIA, at("/imports", status=403)),
    "error-404": (NADIA, at("/leads/999999999", status=404)),
    "phones": (NOBODY, phone_list),
    "phone": (NOBODY, phone),
}


@pytest.fixture(scope="module")
async def seats(product: Product, browser: Browser) -> AsyncIterator[dict[str, Seat]]:
    """Give a page for each person, signed in, and a lead who has just written."""
    await product.lead_writes(OPEN_PHONE, "Is there a place on Saturday morning?")
    PICTURES.mkdir(parents=True, exist_ok=True)
    contexts, found = [], {}
    for name in (NOBODY, NADIA, SURAYA, DANIEL):
        context = await browser.new_context(viewport=DESK, reduced_motion="reduce")
        contexts.append(context)
        found[name] = seat = Seat(product, await context.new_page())
        if name:
            await seat.go("/sign-in")
            await seat.page.get_by_role("button", name=name).click()
            await seat.page.wait_for_url(re.compile("/(queue|leads|imports)"))
        note_errors(seat.page, seat.errors)
    yield found
    for context in contexts:
        await context.close()


@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_has_no_barrier(seats: dict[str, Seat], name: str) -> None:
    person, open_screen = SCREENS[name]
    seat = seats[person]
    seat.errors.clear()
    await seat.page.set_viewport_size(DESK)
    await open_screen(seat)
    await seat.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for theme, size in LOOKS:
        look = f"{theme}-{size['width']}"
        await seat.page.set_viewport_size(size)
        await seat.page.emulate_media(color_scheme="dark" if theme == "night" else "light")
        if WITH_PICTURES:
            await seat.page.screenshot(path=PICTURES / f"{name}-{look}.png")
        problems = await barriers(seat.page, rules=COLOURS if theme == "night" else None)
        if await sideways_scroll(seat.page):
            problems.append("the page scrolls sideways")
        if problems:
            found[look] = problems
    assert found == {}
    assert seat.errors == []


async def barriers(page: Page, *, rules: list[str] | None = None) -> list[str]:
    """Return what axe finds by these rules, or by all of `TAGS`; one line for each place."""
    chosen = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    result: dict[str, Any] = await page.evaluate(
        "chosen => axe.run(document, {runOnly: chosen, resultTypes: ['violations']})", chosen
    )
    return [
        f"{violation['id']}: {node['target']} {node['html'][:160]}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]


async def sideways_scroll(page: Page) -> bool:
    """Tell whether the page is wider than its window."""
    return bool(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
