"""Tests for work that nobody waits for: bursts, failures, and closing."""

from __future__ import annotations

import asyncio

from app.kernel.soon import Soon


async def test_a_burst_under_one_name_is_followed_by_one_more_only() -> None:
    soon, runs, gate = Soon(), 0, asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        await gate.wait()

    soon.run("same", work)
    await asyncio.sleep(0)
    for _ in range(5):
        soon.run("same", work)
    gate.set()
    await soon.close()
    assert runs == 2


async def test_closing_waits_for_what_the_work_began_in_its_turn() -> None:
    soon, done = Soon(), []

    async def later() -> None:
        await asyncio.sleep(0)
        done.append("later")

    async def first() -> None:
        await asyncio.sleep(0)
        soon.run("later", later)
        done.append("first")

    soon.run("first", first)
    await soon.close()
    assert done == ["first", "later"]


async def test_what_fails_holds_up_nothing_else() -> None:
    soon, done = Soon(), []

    async def fail() -> None:
        raise ValueError("gone")

    async def work() -> None:
        done.append("work")

    soon.run("bad", fail)
    soon.run("good", work)
    await soon.close()
    soon.run("bad", work)
    await soon.close()
    assert done == ["work", "work"]
