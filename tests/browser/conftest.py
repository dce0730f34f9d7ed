"""The whole product as `warmline up` starts it, and browsers on it.

All tests share one demo, so each uses leads of its own. What leaves the demo changed for good comes late by its
file's name: the main journey lets two weeks pass, the whole list brings a thousand people.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

from app.config import PROJECT_ROOT
from app.launch.home import prepare_home
from app.launch.postgres import database_url
from app.launch.state import read_state
from tests.fixtures.simulator import free_port

START_SECONDS = 90
expect.set_options(timeout=20_000)  # how quick a screen is belongs to the benchmarks
CHROMIUM_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@dataclass(frozen=True, slots=True)
class Product:
    """A running Warmline with its demo."""

    url: str
    simulator_url: str
    home: Path

    def warmline(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a `warmline` command against it."""
        return subprocess.run(
            [sys.executable, "-m", "app.cli", *arguments, "--home", str(self.home)],
            cwd=PROJECT_ROOT,
            env=_environment(self.home, self.url.rpartition(":")[2]),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    async def received(self, phone: str) -> list[dict[str, Any]]:
        """Return the messages a phone got from us, oldest first."""
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"{self.simulator_url}/control/phones/{phone}/messages")
        return [m for m in answer.json() if m["direction"] == "outbound-api"]

    async def lead_writes(self, phone: str, text: str, *, name: str | None = None) -> None:
        """Let a phone write to us; return once the webhook was answered with 2xx."""
        message = {"from": phone, "body": text, "name": name}
        async with httpx.AsyncClient(timeout=20) as client:
            answer = await client.post(
                f"{self.simulator_url}/control/inbound", params={"wait": "true"}, json=message
            )
        assert answer.json()["status"] in range(200, 300), answer.text

    async def has_received(self, phone: str, text: str, *, times: int = 1) -> None:
        """Wait until a phone got a text, and make sure that it got it no more often than that."""
        for _ in range(150):
            found = sum(message["body"] == text for message in await self.received(phone))
            if found >= times:
                break
            await asyncio.sleep(0.1)
        await self.until_callbacks_rest()
        assert sum(message["body"] == text for message in await self.received(phone)) == times

    async def until_callbacks_rest(self) -> None:
        """Wait until the simulator has no callback under way."""
        async with httpx.AsyncClient(timeout=30) as client:
            await client.get(f"{self.simulator_url}/control/idle", params={"within": 10})

    async def execute(self, sql: str) -> list[Any]:
        """Execute a statement in its database; return the rows."""
        address = database_url(read_state(prepare_home(self.home)).postgres)
        connection = await asyncpg.connect(address)
        try:
            return list(await connection.fetch(sql))
        finally:
            await connection.close()


@pytest.fixture(scope="package")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """Start the product once for all browser tests, and stop it as Ctrl-C does."""
    home = tmp_path_factory.mktemp("product") / "home"
    port = _two_free_ports()
    log = (home.parent / "up.log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "up"],
        cwd=PROJECT_ROOT,
        env=_environment(home, str(port)),
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        product = Product(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}", home)
        _wait_until_healthy(product, process, log)
        yield product
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        log.close()


@pytest.fixture(scope="package")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """Give a headless Chromium; each test opens contexts of its own in it."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM_ARGUMENTS))
        yield opened
        await opened.close()


@pytest.fixture
async def sign_in(product: Product, browser: Browser) -> AsyncIterator[Callable[..., Awaitable[Page]]]:
    """Give a function that comes in as a demo person, in a browser of their own.

    Console errors fail the test, unless the person comes `with_trouble`.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    async def come_in(name: str, *, with_trouble: bool = False, **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1440, "height": 900})
        context = await browser.new_context(**options)
        contexts.append(context)
        page = await context.new_page()
        note_errors(page, [] if with_trouble else errors)
        await page.goto(f"{product.url}/sign-in")
        await page.get_by_role("button", name=name).click()
        await page.wait_for_url(re.compile("/(queue|leads|imports)"))
        return page

    yield come_in
    for context in contexts:
        await context.close()
    assert errors == []


def note_errors(page: Page, errors: list[str]) -> None:
    """Add to `errors` what the page's console complains of.

    The status of the page itself is no complaint, nor is a refusal that the page puts into words.
    """

    def note(message: ConsoleMessage) -> None:
        is_answer = message.text.startswith("Failed to load resource") and (
            message.location["url"] == page.url or re.search(r"status of (409|422)\b", message.text)
        )
        if message.type in ("error", "warning") and not is_answer:
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))


def _environment(home: Path, port: str) -> dict[str, str]:
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("WARMLINE_", "DATABASE_", "REDIS_", "TWILIO_"))
    }
    return {**kept, "WARMLINE_HOME": str(home), "WARMLINE_PORT": port, "PYTHONPATH": str(PROJECT_ROOT)}


def _two_free_ports() -> int:
    for _ in range(50):
        port = free_port()
        if port < 65_000 and _is_free(port + 1):
            return port
    raise AssertionError("no two free ports in a row")


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _wait_until_healthy(product: Product, process: subprocess.Popen[bytes], log: Any) -> None:
    async def wait() -> None:
        async with asyncio.timeout(START_SECONDS), httpx.AsyncClient() as client:
            while True:
                if process.poll() is not None:
                    log.seek(0)
                    raise AssertionError(f"`warmline up` ended: {log.read()}")
                try:
                    if (await client.get(f"{product.url}/healthz")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.2)

    asyncio.run(wait())
