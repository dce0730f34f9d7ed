"""One way to make an engine: addresses as operators write them, time-outs, and a name that the server shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolIsBusy

from app.config import Settings
from app.db.session import Database, make_engine


async def test_an_address_with_sslmode_connects_in_utc_under_its_name(settings: Settings) -> None:
    address = f"{settings.database_url}?sslmode=disable"
    own = replace(settings, database_url=address)
    for engine, name in (
        (make_engine(address, pool_size=1), "warmline"),
        (make_engine(own, application_name="warmline-web"), "warmline-web"),
        (make_engine(own.sqlalchemy_url, pool_size=1), "warmline"),
    ):
        async with Database(engine).reading() as uow:
            row = (
                await uow.execute(
                    "SELECT current_setting('timezone') AS zone, current_setting('application_name') AS name"
                )
            ).one()
        await engine.dispose()
        assert (row.zone, row.name) == ("UTC", name)


async def test_who_finds_every_connection_taken_is_told_after_the_settings_time(settings: Settings) -> None:
    quick = replace(settings, database_pool_size=1, database_pool_timeout_seconds=0.05)
    engine = make_engine(quick, max_overflow=0)
    async with engine.connect() as taken:
        await taken.execute(text("SELECT 1"))
        with pytest.raises(PoolIsBusy):
            await engine.connect().__aenter__()
    await engine.dispose()


async def test_what_people_wrote_is_not_in_the_text_of_an_error(settings: Settings) -> None:
    engine = make_engine(settings)
    with pytest.raises(Exception, match="hidden due to hide_parameters") as failed:
        async with Database(engine).reading() as uow:
            await uow.execute("SELECT CAST(:words AS text) FROM nowhere", {"words": "a secret of a lead"})
    await engine.dispose()
    assert "a secret of a lead" not in str(failed.value)


async def test_every_transaction_knows_the_organisations_zone_from_the_one_setting(
    settings: Settings,
) -> None:
    engine = make_engine(replace(settings, default_time_zone="Europe/Berlin"), pool_size=1)
    async with Database(engine).transaction() as uow:
        zone = uow.zone
    await engine.dispose()
    assert zone == "Europe/Berlin"
