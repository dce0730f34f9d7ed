"""Signing in and out: nobody is told who exists, guessing is slowed down, a session is safe and ends."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace

import pytest
from argon2 import PasswordHasher

from app.config import Settings
from app.kernel.roles import Role
from app.web.csrf import session_token
from tests.fixtures.site import PASSWORD, Site, running_site

AINA = "aina@example.org"


@pytest.fixture(autouse=True)
async def aina(site: Site) -> int:
    return await site.add_person(AINA, Role.ADVISER)


async def test_the_right_password_begins_a_session_and_leads_home(site: Site) -> None:
    browser = site.browser()
    answer = await browser.sign_in("AINA@example.org ", PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    home = await browser.get("/")
    assert (home.status_code, home.headers["location"]) == (303, "/queue")


async def test_a_page_asked_for_is_where_signing_in_leads(site: Site) -> None:
    browser = site.browser()
    refused = await browser.get("/shell?current=queue")
    assert refused.status_code == 303
    assert refused.headers["location"] == "/sign-in?next=%2Fshell%3Fcurrent%3Dqueue"
    answer = await browser.sign_in(AINA, PASSWORD, goes_to="/shell?current=queue")
    assert answer.headers["location"] == "/shell?current=queue"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "javascript:1"],
)
async def test_signing_in_never_leads_to_another_site(site: Site, elsewhere: str) -> None:
    answer = await site.browser().sign_in(AINA, PASSWORD, goes_to=elsewhere)
    assert answer.headers["location"] == "/"


async def test_an_unknown_name_and_a_wrong_password_get_the_same_answer(site: Site) -> None:
    wrong = await site.browser().sign_in(AINA, "not the password")
    unknown = await site.browser().sign_in("nobody@example.org", "not the password")
    assert wrong.status_code == unknown.status_code == 422
    words = "E-mail or password is not right."
    assert words in wrong.text
    assert words in unknown.text
    assert await site.count("SELECT count(*) FROM sessions") == 0


async def test_an_unknown_name_costs_as_many_hash_checks_as_a_known_one(site: Site) -> None:
    checks = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]
            checks.append(hash)
            return super().verify(hash, password)

    site.passwords._hasher = Counting(time_cost=1, memory_cost=8, parallelism=1)
    await site.browser().sign_in(AINA, "not the password")
    known = len(checks)
    await site.browser().sign_in("nobody@example.org", "not the password")
    assert (known, len(checks)) == (1, 2)


async def test_somebody_who_left_cannot_sign_in_and_is_out_at_once(site: Site) -> None:
    browser = await site.signed_in(AINA)
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE users SET active = false")
    assert (await browser.get("/shell")).headers["location"].startswith("/sign-in")
    assert (await site.browser().sign_in(AINA, PASSWORD)).status_code == 422


async def test_guessing_is_slowed_down_with_the_time_to_wait(site: Site) -> None:
    for _ in range(5):
        assert (await site.browser().sign_in(AINA, "a wrong guess")).status_code == 422
    answer = await site.browser().sign_in(AINA, PASSWORD)
    assert answer.status_code == 429
    assert 25 <= int(answer.headers["retry-after"]) <= 30
    assert "Too many tries. Try again in" in answer.text
    other = await site.browser().sign_in("other@example.org", "a wrong guess")
    assert other.status_code == 422, "another name from the same address is not held up yet"


async def test_a_burst_of_guesses_at_once_does_not_slip_past_the_brake(site: Site) -> None:
    browsers = [site.browser() for _ in range(12)]
    answers = await asyncio.gather(*(browser.sign_in(AINA, "a wrong guess") for browser in browsers))
    assert sorted(answer.status_code for answer in answers) == [422] * 5 + [429] * 7


async def test_the_brake_counts_by_address_too(site: Site) -> None:
    async with site.database.transaction() as uow:
        await uow.execute(
            "INSERT INTO sign_in_failures (key) SELECT 'address:127.0.0.1' FROM generate_series(1, 30)"
        )
    assert (await site.browser().sign_in(AINA, PASSWORD)).status_code == 429


async def test_a_forged_forwarding_header_does_not_change_the_address(site: Site) -> None:
    browser = site.browser()
    form = {"csrf_token": await browser.token("/sign-in"), "email": AINA, "password": "a wrong guess"}
    await browser.post("/sessions", form, X_Forwarded_For="203.0.113.9")
    count = "SELECT count(*) FROM sign_in_failures WHERE key = 'address:127.0.0.1'"
    assert await site.count(count) == 1


async def test_the_right_password_takes_its_tries_back(site: Site) -> None:
    await site.browser().sign_in(AINA, "a wrong guess")
    await site.signed_in(AINA)
    assert await site.count("SELECT count(*) FROM sign_in_failures WHERE key LIKE 'email:%'") == 0
    assert await site.count("SELECT count(*) FROM sign_in_failures") == 1


async def test_only_the_hash_of_the_secret_is_stored(site: Site) -> None:
    browser = await site.signed_in(AINA)
    secret = browser.http.cookies["warmline_session"]
    assert len(secret) >= 43, "256 bits"
    async with site.database.reading() as uow:
        stored = (await uow.execute("SELECT token_hash FROM sessions")).scalar_one()
    assert stored == _sha256(secret)


async def test_a_planted_session_cookie_is_not_taken_over(site: Site) -> None:
    browser = site.browser()
    browser.http.cookies.set("warmline_session", "planted", domain="127.0.0.1", path="/")
    answer = await browser.sign_in(AINA, PASSWORD)
    assert "warmline_session=planted" not in answer.headers["set-cookie"]
    assert (
        await site.count("SELECT count(*) FROM sessions WHERE token_hash = :hash", hash=_sha256("planted"))
        == 0
    )


async def test_signing_out_ends_the_session_in_the_database(site: Site) -> None:
    browser = await site.signed_in(AINA)
    kept = browser.http.cookies["warmline_session"]
    token = await _own_token(site)
    answer = await browser.post("/sessions/end", {"csrf_token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    browser.http.cookies.set("warmline_session", kept, domain="127.0.0.1", path="/")
    assert (await browser.get("/shell")).status_code == 303
    assert await site.count("SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL") == 1
    assert await site.count("SELECT count(*) FROM audit_log WHERE action = 'signed_out'") == 1


async def test_a_session_ends_when_it_was_not_used_and_moves_on_when_it_was(site: Site) -> None:
    browser = await site.signed_in(AINA)
    await _shift(
        site, "seen_at = seen_at - interval '11 hours', expires_at = expires_at - interval '11 hours'"
    )
    assert (await browser.get("/shell")).status_code == 200
    left = "SELECT extract(epoch FROM expires_at - clock_timestamp())::int FROM sessions"
    assert 12 * 3600 - 60 <= await site.count(left) <= 12 * 3600
    await _shift(site, "expires_at = clock_timestamp() - interval '1 second'")
    assert (await browser.get("/shell")).status_code == 303


async def test_a_session_never_outlives_two_weeks(site: Site) -> None:
    browser = await site.signed_in(AINA)
    await _shift(
        site,
        "created_at = created_at - interval '13 days 23 hours', seen_at = seen_at - interval '2 minutes'",
    )
    assert (await browser.get("/shell")).status_code == 200
    left = "SELECT extract(epoch FROM expires_at - clock_timestamp())::int FROM sessions"
    assert await site.count(left) <= 3600


async def test_a_hash_of_older_parameters_is_made_anew(site: Site) -> None:
    older = PasswordHasher(time_cost=2, memory_cost=8, parallelism=1).hash(PASSWORD)
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE users SET password_hash = :older", {"older": older})
    await site.signed_in(AINA)
    async with site.database.reading() as uow:
        stored = (await uow.execute("SELECT password_hash FROM users")).scalar_one()
    assert ",t=1," in stored
    await site.signed_in(AINA)


async def test_demo_people_come_in_by_a_button_and_nobody_else_does(site: Site) -> None:
    await site.add_person("demo@example.org", Role.MANAGER, demo=True)
    browser = site.browser()
    assert 'value="demo@example.org"' in (await browser.get("/sign-in")).text
    token = await browser.token("/sign-in")
    refused = await browser.post("/sessions", {"csrf_token": token, "demo_person": AINA})
    assert refused.status_code == 422
    answer = await browser.post("/sessions", {"csrf_token": token, "demo_person": "demo@example.org"})
    assert answer.status_code == 303


async def test_outside_the_demo_there_is_no_button(settings: Settings) -> None:
    async with running_site(replace(settings, demo=False)) as site:
        await site.add_person("demo@example.org", Role.MANAGER, demo=True)
        browser = site.browser()
        token = await browser.token("/sign-in")
        assert "demo@example.org" not in (await browser.get("/sign-in")).text
        answer = await browser.post("/sessions", {"csrf_token": token, "demo_person": "demo@example.org"})
        assert answer.status_code == 404
        assert (await browser.get("/demo/clock")).status_code == 404


@pytest.mark.parametrize("email", ["\x00", "x" * 100_000, "ünï@cödé.example", ""])
async def test_strange_names_are_refused_like_any_other(site: Site, email: str) -> None:
    assert (await site.browser().sign_in(email, "a wrong guess")).status_code == 422


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def _shift(site: Site, change: str) -> None:
    async with site.database.transaction() as uow:
        await uow.execute("UPDATE sessions SET " + change)


async def _own_token(site: Site) -> str:
    async with site.database.reading() as uow:
        row = (await uow.execute("SELECT csrf_secret, token_hash FROM sessions")).one()
    return session_token(csrf_secret=row.csrf_secret, session_hash=row.token_hash)
