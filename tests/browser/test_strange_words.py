"""Names and messages that would break a page are shown as text, in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, ViewportSize, expect

from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

SignIn = Callable[..., Awaitable[Page]]
SCRIPT = "<script>alert(1)</script>"
PICTURE = '<img src=x onerror="alert(1)"> [x](javascript:alert(1)) &lt;b&gt;'
TURNED = "Ali\u202egnp.exe"
PILE = "Z" + "\u0301" * 200
PEOPLE = {
    "+60120009101": (f"{SCRIPT} One", PICTURE),
    "+60120009102": (f"{TURNED} Two", "\u202eback to front"),
    "+60120009103": (f"{PILE} Three", "👨‍👩‍👧" * 300),
    "+60120009104": ("Four" + "w" * 10_000, "m" * 10_000),
}
SIZES = (ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844))


@pytest.fixture(scope="module", autouse=True)
async def _they_wrote(product: Product) -> None:
    for phone, (name, text) in PEOPLE.items():
        await product.lead_writes(phone, text, name=name)


@pytest.fixture
async def page(sign_in: SignIn) -> Page:
    """Give a manager's page, on which no box of an injected script may open."""
    opened = await sign_in("Suraya Daud")
    opened.on("dialog", lambda box: pytest.fail(f"a script ran: {box.message}"))
    return opened


async def test_V07_W01_the_lists_show_names_as_text(product: Product, page: Page) -> None:
    for path in ("/queue?segment=reply", "/queue?segment=take", "/inbox?tab=all", "/leads?q=One", "/leads"):
        for size in SIZES:
            await page.set_viewport_size(size)
            await page.goto(product.url + path)
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert await is_in_its_place(page), path
    await expect(page.get_by_role("link", name=f"{SCRIPT} One")).to_be_visible()
    names = await page.locator("tbody th a").all_inner_texts()
    assert not [name for name in names if "\u202e" in name]
    assert max(len(name) for name in names) <= 300
    assert max(name.count("\u0301") for name in names) <= 6


async def test_V07_W01_a_conversation_and_a_lead_hold_their_width(product: Product, page: Page) -> None:
    rows = await product.execute(
        "SELECT c.id AS lead, t.id AS thread FROM contacts c JOIN conversations t ON t.contact_id = c.id "
        "JOIN contact_identities i ON i.contact_id = c.id WHERE i.value LIKE '+601200091%' AND i.kind = 'phone' "
        "ORDER BY c.id"
    )
    assert len(rows) == len(PEOPLE)
    for row in rows:
        for path in (f"/inbox/{row['thread']}", f"/leads/{row['lead']}"):
            for size in SIZES:
                await page.set_viewport_size(size)
                await page.goto(product.url + path)
                assert await is_in_its_place(page), path
                assert await bubbles_are_in_the_thread(page), path
    await page.set_viewport_size(SIZES[0])
    await page.goto(f"{product.url}/inbox/{rows[0]['thread']}")
    await expect(page.get_by_role("log").get_by_text(PICTURE)).to_be_visible()
    await expect(page.get_by_role("heading", name=f"{SCRIPT} One", level=1)).to_be_visible()
    assert await page.locator("#main img, #main script").count() == 0


async def is_in_its_place(page: Page) -> bool:
    """Tell whether the page is no wider than its window."""
    return bool(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


async def bubbles_are_in_the_thread(page: Page) -> bool:
    """Tell whether no message is wider than the conversation."""
    return bool(
        await page.evaluate(
            "[...document.querySelectorAll('.bubble')].every((one) => one.scrollWidth <= one.clientWidth + 1)"
        )
    )
