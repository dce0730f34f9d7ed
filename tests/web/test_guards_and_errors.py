"""Who may come in, what a forged request gets, and how failures are told to people, to htmx and to machines."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest
import structlog
from structlog.testing import capture_logs

from app.config import Settings
from app.kernel.roles import Role
from app.main import Ports
from tests.fixtures.site import Browser, Site, running_site
from tests.web.probes import PROBES, SECRET_WORDS

EMAILS = {role: f"{role.value}@example.org" for role in Role}


@pytest.fixture(scope="module")
async def module_site(module_settings: Settings) -> AsyncIterator[Site]:
    async with running_site(module_settings, Ports(more_screens=PROBES)) as site:
        yield site


@pytest.fixture
async def adviser(site: Site) -> Browser:
    await site.add_person(EMAILS[Role.ADVISER], Role.ADVISER)
    return await site.signed_in(EMAILS[Role.ADVISER])


async def test_everything_is_closed_to_people_who_are_not_signed_in(site: Site) -> None:
    browser = site.browser()
    assert (await browser.get("/probe/for-managers")).status_code == 303
    assert (await browser.post("/probe/changes")).status_code == 303
    assert (await browser.get("/probe/for-managers", HX_Request="true")).status_code == 401


@pytest.mark.parametrize(
    ("role", "status"), [(Role.ADVISER, 403), (Role.MARKETER, 403), (Role.MANAGER, 200), (Role.ADMIN, 200)]
)
async def test_a_guard_lets_its_roles_and_admins_through(site: Site, role: Role, status: int) -> None:
    await site.add_person(EMAILS[role], role)
    browser = await site.signed_in(EMAILS[role])
    assert (await browser.get("/probe/for-managers")).status_code == status


async def test_a_change_without_or_with_a_wrong_token_is_refused(adviser: Browser) -> None:
    for form in ({}, {"csrf_token": ""}, {"csrf_token": "0" * 64}, {"csrf_token": "ü"}):
        answer = await adviser.post("/probe/changes", form)
        assert answer.status_code == 403
        assert "This form is no longer valid." in answer.text
    assert (await adviser.post("/probe/changes", X_CSRF_Token="0" * 64)).status_code == 403


async def test_the_token_is_taken_from_the_form_or_the_header(adviser: Browser) -> None:
    token = await adviser.token("/demo/clock")
    assert (await adviser.post("/probe/changes", {"csrf_token": token})).text == "Adviser"
    assert (await adviser.post("/probe/changes", X_CSRF_Token=token)).text == "Adviser"
    sent = await adviser.http.post("/probe/changes", files={"csrf_token": (None, token)})
    assert sent.text == "Adviser"


async def test_a_token_of_another_session_is_refused(site: Site, adviser: Browser) -> None:
    other = await site.signed_in(EMAILS[Role.ADVISER])
    assert (
        await other.post("/probe/changes", {"csrf_token": await adviser.token("/demo/clock")})
    ).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_right_token_from_a_foreign_page_is_refused(
    adviser: Browser, headers: dict[str, str]
) -> None:
    form = {"csrf_token": await adviser.token("/demo/clock")}
    assert (await adviser.post("/probe/changes", form)).status_code == 200
    answer = await adviser.http.post("/probe/changes", data=form, headers=headers)
    assert answer.status_code == 403


async def test_the_sign_in_form_of_another_browser_is_refused(site: Site) -> None:
    token = await site.browser().token("/sign-in")
    browser = site.browser()
    await browser.get("/sign-in")
    form = {"csrf_token": token, "email": "a@example.org", "password": "a wrong guess"}
    assert (await browser.post("/sessions", form)).status_code == 403
    assert (await site.browser().post("/sessions", form)).status_code == 403


async def test_webhooks_need_no_token_and_cost_no_session(site: Site) -> None:
    answer = await site.browser().http.post("/webhooks/probe", headers={"Origin": "https://provider.example"})
    assert (answer.status_code, answer.text) == (200, "ok")


async def test_cookies_carry_their_marks(site: Site, adviser: Browser) -> None:
    answer = await site.browser().get("/sign-in")
    marks = answer.headers["set-cookie"]
    assert "HttpOnly" in marks
    assert "SameSite=lax" in marks
    assert "Secure" not in marks, "a demo runs over plain http"


async def test_over_https_cookies_are_host_cookies_and_transport_is_strict(module_settings: Settings) -> None:
    async with running_site(module_settings, is_public_https=True) as site:
        answer = await site.browser().get("/sign-in")
        name, _, marks = answer.headers["set-cookie"].partition("=")
        assert name == "__Host-warmline_sign_in"
        assert {"Secure", "HttpOnly", "Path=/"} <= {mark.strip() for mark in marks.split(";")}
        assert "Domain" not in marks
        assert answer.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize("path", ["/sign-in", "/healthz", "/nowhere", "/probe/breaks", "/static/css/app.css"])
async def test_every_answer_carries_the_security_headers(site: Site, path: str) -> None:
    answer = await site.browser().get(path)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert "strict-transport-security" not in answer.headers


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("not-found", 404, "There is no such lead."),
        ("forbidden", 403, "This lead belongs to somebody else."),
        ("conflict", 409, "Aina answered a moment ago."),
        ("refused", 409, "This lead has opted out."),
        ("invalid", 422, "Write something first."),
    ],
)
async def test_a_refusal_is_a_page_with_its_words_and_a_toast_for_htmx(
    adviser: Browser, kind: str, status: int, words: str
) -> None:
    page = await adviser.get(f"/probe/fails/{kind}")
    assert page.status_code == status
    assert words in page.text
    assert "<title>" in page.text
    part = await adviser.get(f"/probe/fails/{kind}", HX_Request="true")
    assert part.status_code == status
    assert part.text == f'<p role="alert">{words}</p>'
    assert part.headers["hx-reswap"] == "none"
    toast = json.loads(part.headers.get("hx-trigger", "{}"))
    assert toast == ({"toast": {"text": words}} if status in {409, 422} else {})


async def test_an_unexpected_failure_gives_a_reference_and_no_words_of_people(adviser: Browser) -> None:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        page = await adviser.get("/probe/breaks")
        hook = await adviser.http.post("/webhooks/probe/breaks")
    assert page.status_code == hook.status_code == 500
    reference = page.headers["x-correlation-id"]
    assert f"Reference {reference}" in page.text
    assert hook.json()["error"] == "unexpected"
    assert hook.json()["reference"] == hook.headers["x-correlation-id"]
    failed = [line for line in lines if line["event"] == "request.failed"]
    assert [line["correlation_id"] for line in failed] == [reference, hook.json()["reference"]]
    assert failed[0]["error"] == "RuntimeError"
    assert SECRET_WORDS not in page.text + hook.text + str(lines)


async def test_a_reference_from_outside_is_not_believed(site: Site) -> None:
    answer = await site.browser().get("/healthz", X_Correlation_Id="mine")
    assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-correlation-id"])


async def test_an_unknown_address_is_a_page_for_people_and_json_for_machines(site: Site) -> None:
    page = await site.browser().get("/nowhere")
    assert (page.status_code, "There is nothing at this address." in page.text) == (404, True)
    hook = await site.browser().get("/webhooks/nowhere")
    assert (hook.status_code, hook.json()["error"]) == (404, "http_error")


async def test_a_form_beyond_its_size_is_refused(adviser: Browser) -> None:
    form = {"csrf_token": await adviser.token("/demo/clock"), "text": "x" * 300_000}
    assert (await adviser.post("/probe/changes", form)).status_code == 413


async def test_health_stands_on_database_redis_and_realtime(site: Site) -> None:
    answer = await site.browser().get("/healthz")
    assert answer.json() == {"status": "ok", "database": "ok", "redis": "ok", "realtime": "ok"}


async def test_the_shell_and_preferences_work_without_script(adviser: Browser) -> None:
    shell = await adviser.get("/shell?current=queue")
    assert 'href="/queue" aria-current="page"' in shell.text
    token = await adviser.token("/demo/clock")
    answer = await adviser.post(
        "/me/theme", {"csrf_token": token, "theme": "night"}, Referer=f"{adviser.url}/inbox?tab=mine"
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/inbox?tab=mine")
    assert adviser.http.cookies["theme"] == "night"
    assert (await adviser.post("/me/theme", {"csrf_token": token, "theme": "pink"})).status_code == 400


async def test_the_demo_clock_moves_forward_for_everybody_who_is_signed_in(
    site: Site, adviser: Browser
) -> None:
    async with site.database.transaction() as uow:
        await uow.execute(
            "INSERT INTO demo_clock (id, real_base, demo_base, rate) "
            "VALUES (1, clock_timestamp(), '2026-11-30 01:00+00', 1)"
        )
    token = await adviser.token("/demo/clock")
    answer = await adviser.post("/demo/clock", {"csrf_token": token, "advance": "PT1H"}, HX_Request="true")
    assert answer.status_code == 200
    assert "10:00" in answer.text, "09:00 in Kuala Lumpur and one hour"
    await adviser.post("/demo/clock", {"csrf_token": token, "rate": "60"})
    assert await site.count("SELECT rate::int FROM demo_clock") == 60
    assert (await adviser.post("/demo/clock", {"csrf_token": token, "rate": "1e9"})).status_code == 400
    assert (await site.browser().post("/demo/clock", {"advance": "P1D"})).status_code == 303
