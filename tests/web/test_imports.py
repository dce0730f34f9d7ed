"""The Import page: upload, check, run, result; every step is a plain form and says what to do."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from app.campaigns.imports.work import carry_on_imports
from app.clock import FixedClock
from app.contacts.imports.operations.people import RunSettings
from app.kernel.roles import Role
from tests.fixtures.emptying import empty_within
from tests.fixtures.site import Browser, Site
from tests.web.desks import sit_down

DATA = Path(__file__).parents[1] / "data"
OPEN_DAY = (DATA / "leads-open-day.csv").read_bytes()
MESSY = (DATA / "leads-messy.csv").read_bytes()
NOW = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
MARKETER = "mei@example.org"
DEFINITION = {
    "paths": {
        "nurture": [{"kind": "message", "key": "hello", "template": "hello"}, {"kind": "end", "key": "end"}]
    }
}


@pytest.fixture
async def site(module_site: Site) -> Site:
    """Give the application with one campaign, one marketer and nothing imported."""
    await module_site.reset()
    await module_site.add_person(MARKETER, Role.MARKETER)
    async with module_site.database.transaction() as uow:
        await empty_within(uow, "contacts", "runs", "run_files", "senders")
        await uow.execute(
            "INSERT INTO programs (id, key, name) VALUES (1, 'family', 'Family programme') ON CONFLICT DO NOTHING"
        )
        await uow.execute(
            "INSERT INTO campaigns (id, program_id, key, name, current_version_id) "
            "VALUES (1, 1, 'open-day', 'Open day', 1) ON CONFLICT DO NOTHING"
        )
        await uow.execute(
            "INSERT INTO campaign_versions "
            "(id, campaign_id, number, definition, structure_hash, published_at) "
            "VALUES (1, 1, 1, CAST(:definition AS jsonb), 'x', :now) ON CONFLICT DO NOTHING",
            {"definition": json.dumps(DEFINITION), "now": NOW},
        )
        await uow.execute(
            "INSERT INTO senders (key, channel, provider, address) "
            "VALUES ('main', 'whatsapp', 'twilio', '+60300000000')"
        )
    return module_site


@pytest.fixture
async def marketer(site: Site) -> Browser:
    return await site.signed_in(MARKETER)


async def upload(browser: Browser, content: bytes, *, name: str = "leads.csv") -> httpx.Response:
    form = {"csrf_token": await browser.token("/imports"), "campaign": "open-day"}
    return await browser.http.post("/imports/files", data=form, files={"file": (name, content, "text/csv")})


async def start(browser: Browser, check: str) -> httpx.Response:
    """Press the button on the check page, with the columns it shows."""
    page = (await browser.get(check)).text
    columns = [part.partition('"')[0] for part in page.split('type="hidden" name="column" value="')[1:]]
    address = check.partition("?")[0]
    form = {"csrf_token": await browser.token("/imports"), "campaign": "open-day", "column": columns}
    return await browser.http.post(f"{address}/runs", data=form)


async def work(site: Site) -> int | None:
    return await carry_on_imports(
        site.database, clock=FixedClock(NOW), settings=RunSettings(default_country="MY")
    )


async def test_from_upload_to_result(site: Site, marketer: Browser) -> None:
    uploaded = await upload(marketer, OPEN_DAY)
    assert uploaded.status_code == 303
    check = uploaded.headers["location"]
    page = (await marketer.get(check)).text
    assert "1,178" in page
    assert "960" in page
    started = await start(marketer, check)
    assert started.status_code == 303
    run = started.headers["location"]
    waiting = (await marketer.get(run)).text
    assert "Waiting for a worker" in waiting
    await work(site)
    done = (await marketer.get(run)).text
    assert 'id="count-created">1,178<' in done
    assert 'id="count-enrolled">960<' in done
    fragment = await marketer.get(f"{run}/progress")
    assert fragment.text.startswith('<div class="grid')


async def test_the_check_says_a_reason_for_each_row_and_changes_nothing(
    site: Site, marketer: Browser
) -> None:
    check = (await upload(marketer, MESSY)).headers["location"]
    page = (await marketer.get(check)).text
    for words in (
        "The phone belongs to one person and the e-mail address",
        "The row has another number of cells than the header.",
        "Neither a phone number nor an e-mail address.",
        "The spreadsheet has replaced digits",
        "The word for consent is not known",
    ):
        assert words in page
    assert "<script>alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "+60120001001" not in page
    assert await site.count("SELECT count(*) FROM contacts") == 0


async def test_o09_clashing_columns_are_asked_about_and_can_be_resolved(
    site: Site, marketer: Browser
) -> None:
    check = (await upload(marketer, b"phone,name,phone\n0123456789,Ana,0123456780\n")).headers["location"]
    page = (await marketer.get(check)).text
    assert "Columns 1 and 3 have the same header" in page
    assert "Import into" not in page
    refused = await start(marketer, f"{check}&column=phone&column=full_name")
    assert refused.status_code == 422
    resolved = f"{check}&column=phone&column=full_name&column=attribute"
    assert "Import into Open day" in (await marketer.get(resolved)).text
    assert (await start(marketer, resolved)).status_code == 303


async def test_o13_the_same_file_in_progress_is_refused_with_a_link(site: Site, marketer: Browser) -> None:
    check = (await upload(marketer, MESSY)).headers["location"]
    run = (await start(marketer, check)).headers["location"]
    again = await start(marketer, check)
    assert again.status_code == 409
    assert f'href="{run}"' in again.text
    await work(site)
    assert (await start(marketer, check)).status_code == 303


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 workbook", "CSV UTF-8"),
        (b"name,phone\n" + b"x" * 25_000_001, "larger than"),
    ],
)
async def test_a_file_that_cannot_be_read_comes_back_with_the_reason(
    marketer: Browser, content: bytes, words: str
) -> None:
    refused = await upload(marketer, content)
    assert refused.status_code == 422
    assert words in refused.text


async def test_no_file_is_said_in_words(marketer: Browser) -> None:
    form = {"csrf_token": await marketer.token("/imports"), "campaign": "open-day"}
    refused = await marketer.http.post("/imports/files", data=form, files={"file": ("", b"")})
    assert refused.status_code == 422
    assert "Choose a CSV file first." in refused.text


async def test_o07_the_downloaded_outcomes_open_as_text(site: Site, marketer: Browser) -> None:
    check = (await upload(marketer, MESSY)).headers["location"]
    run = (await start(marketer, check)).headers["location"]
    await work(site)
    answer = await marketer.get(f"{run}/rows.csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(answer.text.removeprefix("\ufeff"), newline="")))
    assert len(rows) == 26
    assert [row[2] for row in rows[1:4]] == ["New lead", "Known person, second touch", "New lead"]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert '\'=HYPERLINK("http://x.example","Free")' in rows[9]
    problems = await marketer.get(f"{run}/rows.csv?only=problems")
    short = list(csv.reader(io.StringIO(problems.text.removeprefix("\ufeff"), newline="")))
    assert [row[0] for row in short[1:]] == ["6", "15", "16", "17", "21", "22"]


async def test_o01_a_downloaded_file_can_be_imported_and_changes_no_person(
    site: Site, marketer: Browser
) -> None:
    check = (await upload(marketer, OPEN_DAY)).headers["location"]
    run = (await start(marketer, check)).headers["location"]
    await work(site)
    people = (
        "SELECT md5(string_agg(c::text || i::text, '' ORDER BY c.id, i.id)) FROM contacts c "
        "JOIN contact_identities i ON i.contact_id = c.id"
    )
    async with site.database.reading() as uow:
        before = (await uow.execute(people)).scalar_one()
    exported = await marketer.get(f"{run}/rows.csv")
    rows = list(csv.reader(io.StringIO(exported.text, newline="")))
    buffer = io.StringIO()
    csv.writer(buffer).writerows(row[6:] for row in rows)
    again = (await upload(marketer, b"\xef\xbb\xbf" + buffer.getvalue().encode())).headers["location"]
    await start(marketer, again)
    await work(site)
    async with site.database.reading() as uow:
        assert (await uow.execute(people)).scalar_one() == before


async def test_a_run_can_be_stopped_and_is_then_over(site: Site, marketer: Browser) -> None:
    check = (await upload(marketer, MESSY)).headers["location"]
    run = (await start(marketer, check)).headers["location"]
    token = await marketer.token(run)
    assert (await marketer.post(f"{run}/stop", {"csrf_token": token})).status_code == 303
    assert await work(site) is None
    assert "Stopped" in (await marketer.get(run)).text
    assert (await marketer.post(f"{run}/stop", {"csrf_token": token})).status_code == 409


async def test_only_managers_and_marketers_import(site: Site) -> None:
    await site.add_person("aina@example.org", Role.ADVISER)
    adviser = await site.signed_in("aina@example.org")
    assert (await adviser.get("/imports")).status_code == 403


@pytest.mark.parametrize(
    "path", ["/imports/999", "/imports/999/rows.csv", "/imports/files/nothing?campaign=open-day"]
)
async def test_what_does_not_exist_is_not_found(marketer: Browser, path: str) -> None:
    assert (await marketer.get(path)).status_code == 404


async def test_an_import_that_cannot_exist_is_not_found_and_is_no_failure_of_ours(site: Site) -> None:
    marketer = await sit_down(site, "omar", Role.MARKETER)
    for run in ("/imports/999", f"/imports/{2**63}"):
        for path in (run, f"{run}/progress", f"{run}/rows.csv"):
            assert (await marketer.get(path)).status_code == 404, path
        for path in (f"{run}/stop", f"{run}/resume"):
            assert (await marketer.post(path)).status_code == 404, path


async def test_a_file_that_no_column_can_name_is_refused_and_is_no_failure_of_ours(site: Site) -> None:
    marketer = await sit_down(site, "omar", Role.MARKETER)
    assert (await marketer.get("/imports/files/%00")).status_code == 404
    assert (await marketer.post("/imports/files/%00/runs", campaign="open-day")).status_code == 400


async def test_the_form_asks_what_becomes_of_busy_people_and_the_run_does_that(
    site: Site, marketer: Browser
) -> None:
    check = (await upload(marketer, OPEN_DAY)).headers["location"]
    page = (await marketer.get(check)).text
    assert re.search(r'name="when_busy" value="wait" checked', page), "waiting is the proposal"
    assert "Dropped after 90 days." in page
    address = check.partition("?")[0]
    columns = [part.partition('"')[0] for part in page.split('type="hidden" name="column" value="')[1:]]
    for when_busy, waits in (("refuse", False), ("wait", True)):
        form = {
            "csrf_token": await marketer.token("/imports"),
            "campaign": "open-day",
            "column": columns,
            "when_busy": when_busy,
        }
        run = (await marketer.http.post(f"{address}/runs", data=form)).headers["location"]
        stored = "SELECT CAST(params -> 'waits' AS text)::boolean::int FROM runs WHERE id = :id"
        assert await site.count(stored, id=int(run.rpartition("/")[2])) == waits
        await marketer.http.post(f"{run}/stop", data={"csrf_token": await marketer.token("/imports")})
