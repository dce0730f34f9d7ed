"""A marketer brings a list in: upload, check with reasons, corrected columns, live progress, outcomes to keep."""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from app.config import PROJECT_ROOT
from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

MESSY = PROJECT_ROOT / "tests" / "data" / "leads-messy.csv"
SignIn = Callable[..., Awaitable[Page]]


async def test_a_messy_list_is_explained_row_by_row_and_imported_once(
    product: Product, sign_in: SignIn
) -> None:
    page = await sign_in("Daniel Lim")
    await upload(page, product, MESSY)
    for words in (
        "The phone belongs to one person",
        "The row has another number of cells than the header.",
    ):
        await expect(page.get_by_role("row").filter(has_text=words).first).to_be_visible()
    for words, count in (("New leads", 17), ("Second touches", 2), ("Left out", 5), ("Need review", 1)):
        await expect(tile(page, words)).to_have_text(str(count))
    # W01: what a file says is text.
    await expect(page.get_by_text("<script>alert(1)</script>").first).to_be_visible()

    age = page.get_by_label("Child Age, is read as")
    await expect(age).to_have_value("attribute")
    await page.get_by_label("Mobile No., is read as").select_option("ignore")
    await age.select_option("phone")
    await page.get_by_role("button", name="Check with these columns").click()
    await expect(tile(page, "Left out")).not_to_have_text("5")
    await page.get_by_label("Mobile No., is read as").select_option("phone")
    await age.select_option("ignore")
    await page.get_by_role("button", name="Check with these columns").click()
    await expect(age).to_have_value("ignore")
    await expect(tile(page, "Left out")).to_have_text("5")

    await run(page)
    for words, count in (("New leads", 17), ("Left out", 5), ("Need review", 1)):
        await expect(tile(page, words)).to_have_text(str(count))
    rows = await download(page, "All rows")
    assert len(rows) == 25 + 1
    # O07: a cell that would be a formula opens as text.
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]
    assert [cell for cell in cells if cell.startswith("'=HYPERLINK")]
    problems = await download(page, "Left out and to review")
    assert len(problems) == 5 + 1 + 1

    leads = await count_leads(product)
    await upload(page, product, MESSY)
    await page.get_by_label("Child Age, is read as").select_option("ignore")
    await page.get_by_role("button", name="Check with these columns").click()
    await run(page)
    await expect(tile(page, "New leads")).to_have_text("0")
    await expect(tile(page, "Done by an earlier import")).to_be_visible()
    assert await count_leads(product) == leads


async def upload(page: Page, product: Product, file: Path) -> None:
    """Choose a file and go on to its check."""
    await page.goto(f"{product.url}/imports")
    await page.get_by_label("Choose a CSV file").set_input_files(file)
    await page.get_by_role("button", name="Upload and check").click()
    await expect(page.get_by_role("heading", name="Check the list")).to_be_visible(timeout=15_000)


async def run(page: Page) -> None:
    """Start the import and watch it, without a reload, until it is done."""
    await page.get_by_role("button", name="Import into").click()
    await expect(page.get_by_role("heading", name="Import of")).to_be_visible()
    await page.evaluate("window.isTheSamePage = true")
    await expect(page.locator("[data-status=done]")).to_be_visible(timeout=30_000)
    assert await page.evaluate("window.isTheSamePage") is True


async def download(page: Page, button: str) -> list[list[str]]:
    """Press a download and return its rows, the header first."""
    async with page.expect_download() as started:
        await page.get_by_role("link", name=button).click()
    content = Path(await (await started.value).path()).read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(content)))


def tile(page: Page, words: str) -> Locator:
    """Return the number under a heading of the counts."""
    return page.locator("dl > div").filter(has=page.get_by_text(words, exact=True)).locator("dd")


async def count_leads(product: Product) -> int:
    return int((await product.execute("SELECT count(*) AS n FROM contacts"))[0]["n"])


async def test_a_file_may_be_dropped_beside_the_field(product: Product, sign_in: SignIn) -> None:
    page = await sign_in("Daniel Lim")
    await page.goto(f"{product.url}/imports")
    dropped = await page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['Name'], 'dropped.csv')); return all; }"
    )
    await page.locator("[data-file-drop]").dispatch_event("drop", {"dataTransfer": dropped})
    name = await page.get_by_label("Choose a CSV file").evaluate("field => field.files[0]?.name")
    assert name == "dropped.csv"
