"""The list of 1,200 rows that the demo keeps ready: everybody on it who may be written to gets step 1, once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from app.config import PROJECT_ROOT
from tests.browser.conftest import Product
from tests.browser.test_import_page import count_leads, run, tile, upload

pytestmark = pytest.mark.browser

OPEN_DAY = PROJECT_ROOT / "tests" / "data" / "leads-open-day.csv"
PEOPLE = 960
SignIn = Callable[..., Awaitable[Page]]


async def test_960_people_get_step_1_and_the_same_list_again_changes_nothing(
    product: Product, sign_in: SignIn
) -> None:
    await product.execute(
        "UPDATE senders SET rate_per_second = 500"
    )  # at 20 a second it would be a coffee break
    before = await hellos(product)
    page = await sign_in("Daniel Lim")
    await upload(page, product, OPEN_DAY)
    await run(page)
    await expect(tile(page, "Enrolled")).to_have_text(str(PEOPLE))

    got = await until_everybody_got_it(product, before)
    assert len(got) == PEOPLE
    assert set(got.values()) == {1}

    leads = await count_leads(product)
    await upload(page, product, OPEN_DAY)
    await run(page)
    await expect(tile(page, "New leads")).to_have_text("0")
    await expect(tile(page, "Enrolled")).to_have_text("0")
    assert await count_leads(product) == leads
    await product.until_callbacks_rest()
    assert sum((await until_everybody_got_it(product, before)).values()) == PEOPLE


async def hellos(product: Product) -> dict[str, int]:
    """Return how often each phone got the campaign's first message, in whatever language, by the simulator's count."""
    contents = {
        row["content_sid"]
        for row in await product.execute("SELECT content_sid FROM templates WHERE key = 'hello_family'")
    }
    async with httpx.AsyncClient(timeout=30) as client:
        tallies: list[dict[str, Any]] = (
            await client.get(f"{product.simulator_url}/control/counts", params={"group": "to,content_sid"})
        ).json()
    found: dict[str, int] = {}
    for tally in tallies:
        if tally["group"]["content_sid"] in contents:
            found[tally["group"]["to"]] = found.get(tally["group"]["to"], 0) + tally["accepted"]
    return found


async def until_everybody_got_it(product: Product, before: dict[str, int]) -> dict[str, int]:
    """Wait until as many new phones got it as there are people, at most 60 seconds; return those phones."""
    new: dict[str, int] = {}
    for _ in range(120):
        new = {
            to: n - before.get(to, 0) for to, n in (await hellos(product)).items() if n > before.get(to, 0)
        }
        if len(new) >= PEOPLE:
            break
        await asyncio.sleep(0.5)
    return new
