"""A message that nobody can tell of: the queue leads to the question, and the answer is given there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, expect

from app.config import PROJECT_ROOT
from tests.browser.conftest import Product

pytestmark = pytest.mark.browser

AXE = PROJECT_ROOT / "node_modules" / "axe-core" / "axe.min.js"
LEAD = "Ms Grace Wong"
SignIn = Callable[..., Awaitable[Page]]


async def a_doubtful_message(product: Product, key: str, text: str) -> int:
    """Leave an adviser's message to this lead as a lost answer leaves it; return the review's id."""
    [send] = await product.execute(
        "INSERT INTO sends (idempotency_key, kind, contact_id, channel, sender_id, content, status, status_at, "
        f"attempts, author_id, created_at) SELECT '{key}', 'adviser', c.id, 'whatsapp', 1, "
        f"jsonb_build_object('text', '{text}'), 'needs_review', d.now, 1, u.id, d.now "
        f"FROM contacts c, users u, {_DEMO_NOW} d WHERE c.name = '{LEAD}' AND u.name = 'Nadia Rashid' RETURNING id"
    )
    await product.execute(
        "INSERT INTO send_attempts (id, send_id, n, lease_token, lease_expires_at, channel, sender_id, address, "
        f"provider, outcome, looks, looked_at, started_at) "
        f"VALUES ('{key}', {send['id']}, 1, '{key}', now(), 'whatsapp', 1, 'whatsapp:+60120006120', "
        "'twilio', 'unknown', 2, now(), now() - interval '5 minutes')"
    )
    [task] = await product.execute(
        "INSERT INTO tasks (kind, subject, contact_id, owner_id, title, due_at, created_at) "
        f"SELECT 'review', 'send:{send['id']}', s.contact_id, s.author_id, 'Was this message sent?', s.created_at, "
        f"s.created_at FROM sends s WHERE s.id = {send['id']} RETURNING id"
    )
    return int(task["id"])


_DEMO_NOW = "(SELECT demo_base + (clock_timestamp() - real_base) * rate AS now FROM demo_clock)"


async def test_the_question_is_asked_where_the_queue_leads_and_sending_again_warns_first(
    product: Product, sign_in: SignIn
) -> None:
    task = await a_doubtful_message(product, "doubt-1", "The gate is open until six.")
    page = await sign_in("Nadia Rashid", bypass_csp=True)
    await page.goto(f"{product.url}/reviews/{task}")
    card = page.locator(f"#review-{task}")
    await expect(card.get_by_role("heading", name="Was this message sent?")).to_be_visible()
    await expect(card).to_contain_text("The gate is open until six.")
    await expect(card).to_contain_text("not found")
    await page.add_script_tag(path=AXE)
    found = await page.evaluate("id => axe.run('#' + id, {resultTypes: ['violations']})", f"review-{task}")
    assert found["violations"] == []
    await card.get_by_role("button", name="Send it again").click()
    dialog = page.get_by_role("dialog", name="Send this message again?")
    await expect(dialog).to_contain_text("the lead gets it twice")
    await dialog.get_by_role("button", name="Leave it").click()
    await expect(dialog).to_be_hidden()
    await card.get_by_role("button", name="It was sent").click()
    await expect(card).to_have_count(0)
    await expect(page.get_by_text("Noted: it was sent.")).to_be_visible()


async def test_without_script_the_answer_is_a_plain_form(product: Product, sign_in: SignIn) -> None:
    task = await a_doubtful_message(product, "doubt-2", "Bring the form along.")
    page = await sign_in("Nadia Rashid", java_script_enabled=False)
    await page.goto(f"{product.url}/queue")
    await page.locator(f'a[href="/reviews/{task}"]').first.click()
    card = page.locator(f"#review-{task}")
    await card.get_by_role("button", name="Skip it").click()
    await expect(page.get_by_role("heading", name=LEAD)).to_be_visible()
    await expect(card).to_have_count(0)
    [send] = await product.execute("SELECT status FROM sends WHERE idempotency_key = 'doubt-2'")
    assert send["status"] == "skipped"
