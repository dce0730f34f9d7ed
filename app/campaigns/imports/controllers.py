"""The Import page: upload → check → run. A stored file and a run have addresses of their own."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import structlog
from litestar import Controller, Response, get, post
from litestar.connection import Request
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, SkipValidation
from litestar.response import Redirect, Stream

from app.campaigns.imports.forms import read_mapping, read_upload
from app.campaigns.imports.queries import campaign_names, open_campaign, open_campaigns, since_then
from app.campaigns.waiting.settings import load_policy
from app.config import Settings
from app.contacts.imports import queries
from app.contacts.imports.domain.mapping import LABELS
from app.contacts.imports.operations.start import (
    LIMITS,
    keep_file,
    prepare_import,
    read_file,
    resume_import,
    start_import,
    stop_import,
    stored_file,
)
from app.db.session import Database, UnitOfWork
from app.kernel.errors import Conflict, Invalid, WarmlineError
from app.kernel.hints import HintPort
from app.kernel.roles import Role
from app.web.guards import requires
from app.web.pages import Pages
from app.web.viewer import Viewer

log = structlog.get_logger(__name__)

AnyRequest = Request[Any, Any, Any]
PLACE: Final = "import"
TARGET_CHOICES: Final = tuple(
    (target.value, words[:1].upper() + words[1:]) for target, words in LABELS.items()
)
_FORM_AROUND_A_FILE: Final = 100_000

Columns = Annotated[list[str] | None, QueryParameter(name="column")]


class ImportController(Controller):
    """Imports of lead lists into a campaign."""

    path = "/imports"
    guards = [requires(Role.MANAGER, Role.MARKETER)]

    @get("/")
    async def index(
        self, pages: NamedDependency[Pages], database: NamedDependency[Database]
    ) -> Response[str]:
        """Show the upload and the latest imports."""
        return await _upload_page(pages, database)

    @post("/files", request_max_body_size=LIMITS.file_bytes + _FORM_AROUND_A_FILE)
    async def upload(
        self,
        request: AnyRequest,
        pages: NamedDependency[Pages],
        database: NamedDependency[Database],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Keep the file and go on to its check; a file that cannot be read comes back with the reason."""
        try:
            form = await read_upload(await request.form())
            file = await read_file(name=form.file_name, content=form.content)
            async with database.transaction() as uow:
                campaign = await open_campaign(uow, key=form.campaign)
                await keep_file(uow, file=file, now=now)
        except Invalid as refused:
            return await _upload_page(pages, database, problem=refused.message, status=refused.status)
        return Redirect(f"/imports/files/{file.content_hash}?campaign={campaign.key}", status_code=303)

    @get("/files/{content_hash:str}")
    async def check(
        self,
        content_hash: FromPath[str],
        pages: NamedDependency[Pages],
        database: NamedDependency[Database],
        settings: NamedDependency[Settings],
        campaign: FromQuery[str] = "",
        column: Columns = None,
    ) -> Response[str]:
        """Show what the file would become, under the proposed or the chosen columns. Changes nothing."""
        return await _check_page(
            pages, database, settings, content_hash=content_hash, campaign=campaign, targets=column or ()
        )

    @post("/files/{content_hash:str}/runs")
    async def start(
        self,
        content_hash: FromPath[str],
        request: AnyRequest,
        pages: NamedDependency[Pages],
        database: NamedDependency[Database],
        settings: NamedDependency[Settings],
        hints: NamedDependency[SkipValidation[HintPort]],
        viewer: NamedDependency[Viewer],
        now: NamedDependency[datetime],
    ) -> Response[Any]:
        """Start the run and answer at once with its page; workers do the work."""
        form = read_mapping(await request.form())
        try:
            file = await stored_file(database, content_hash=content_hash)
            prepared = await prepare_import(file, targets=form.targets)
            async with database.transaction() as uow:
                campaign = await open_campaign(uow, key=form.campaign)
                run_id = await start_import(
                    uow,
                    prepared=prepared,
                    campaign_key=campaign.key,
                    user_id=viewer.user_id,
                    waits=form.waits,
                    now=now,
                )
                _wake_workers(uow, hints)
        except (Conflict, Invalid) as refused:
            return await _check_page(
                pages,
                database,
                settings,
                content_hash=content_hash,
                campaign=form.campaign,
                targets=form.targets,
                waits=form.waits,
                refused=refused,
            )
        return Redirect(f"/imports/{run_id}", status_code=303)

    @get("/{run_id:int}")
    async def show(
        self,
        run_id: FromPath[int],
        pages: NamedDependency[Pages],
        database: NamedDependency[Database],
        viewer: NamedDependency[Viewer],
    ) -> Response[str]:
        """Show a run: its progress, which a reload shows just as well, or its result."""
        async with database.reading() as uow:
            shown = await _shown_run(uow, run_id, viewer)
        return await pages.page("imports/show.html", current=PLACE, topics=[f"import:{run_id}"], **shown)

    @get("/{run_id:int}/progress")
    async def progress(
        self,
        run_id: FromPath[int],
        pages: NamedDependency[Pages],
        database: NamedDependency[Database],
        viewer: NamedDependency[Viewer],
    ) -> Response[str]:
        """Return the moving part of a run's page."""
        async with database.reading() as uow:
            shown = await _shown_run(uow, run_id, viewer)
        return pages.fragment("imports/_progress.html", **shown)

    @get("/{run_id:int}/rows.csv")
    async def download(
        self,
        run_id: FromPath[int],
        database: NamedDependency[Database],
        viewer: NamedDependency[Viewer],
        only: FromQuery[str] = "",
    ) -> Stream:
        """Return what became of each row, with the row, as CSV that a spreadsheet opens as text."""
        async with database.reading() as uow:
            await queries.run_view(uow, run_id=run_id)
            names = await campaign_names(uow)
        log.info("import.rows_downloaded", run_id=run_id, user_id=viewer.user_id)
        is_short = only == "problems"
        name = f"import-{run_id}-{'problems' if is_short else 'rows'}.csv"
        return Stream(
            queries.download_rows(database, run_id=run_id, only_problems=is_short, campaigns=names),
            media_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
        )

    @post("/{run_id:int}/stop")
    async def stop(
        self, run_id: FromPath[int], database: NamedDependency[Database], now: NamedDependency[datetime]
    ) -> Redirect:
        """Stop a run for good; what it has done stays."""
        async with database.transaction() as uow:
            await stop_import(uow, run_id=run_id, now=now)
        return Redirect(f"/imports/{run_id}", status_code=303)

    @post("/{run_id:int}/resume")
    async def resume(
        self,
        run_id: FromPath[int],
        database: NamedDependency[Database],
        hints: NamedDependency[SkipValidation[HintPort]],
    ) -> Redirect:
        """Let a run go on that was put aside."""
        async with database.transaction() as uow:
            await resume_import(uow, run_id=run_id)
            _wake_workers(uow, hints)
        return Redirect(f"/imports/{run_id}", status_code=303)


def _opens_leads(viewer: Viewer) -> bool:
    """Say whether this person may follow a link to a lead."""
    return viewer.is_one_of(Role.ADVISER, Role.MANAGER)


def _wake_workers(uow: UnitOfWork, hints: HintPort) -> None:
    async def hint() -> None:
        await hints.hint("sweep")

    uow.after_commit("import", hint)


async def _upload_page(
    pages: Pages, database: Database, *, problem: str = "", status: int = 200
) -> Response[str]:
    async with database.reading() as uow:
        campaigns = await open_campaigns(uow)
        runs = await queries.recent_runs(uow)
        names = await campaign_names(uow)
    return await pages.page(
        "imports/index.html",
        current=PLACE,
        status=status,
        campaigns=[(campaign.key, campaign.name) for campaign in campaigns],
        runs=runs,
        campaign_names=names,
        problem=problem,
        megabytes=LIMITS.file_bytes // 1_000_000,
    )


async def _check_page(
    pages: Pages,
    database: Database,
    settings: Settings,
    *,
    content_hash: str,
    campaign: str,
    targets: Sequence[str],
    waits: bool = True,
    refused: WarmlineError | None = None,
) -> Response[str]:
    async with database.reading() as uow:
        chosen = await open_campaign(uow, key=campaign)
        waiting = await load_policy(uow)
        check = await queries.check_file(
            uow, content_hash=content_hash, targets=targets, default_country=settings.default_country
        )
    return await pages.page(
        "imports/check.html",
        current=PLACE,
        status=refused.status if refused else 200,
        check=check,
        campaign=chosen,
        targets=TARGET_CHOICES,
        waits=waits,
        drop_after_days=waiting.expire_after_days,
        refused=refused.message if refused else "",
        open_run=refused.facts.get("run_id") if refused else None,
    )


async def _shown_run(uow: UnitOfWork, run_id: int, viewer: Viewer) -> dict[str, Any]:
    """Return what the page of a run and its moving part print."""
    run = await queries.run_view(uow, run_id=run_id)
    names = await campaign_names(uow)
    return {
        "run": run,
        "rows": () if run.is_open else await queries.notable_rows(uow, run_id=run_id, campaigns=names),
        "since": None if run.is_open else await since_then(uow, run_id=run_id),
        "opens_leads": _opens_leads(viewer),
        "campaign_names": names,
    }
