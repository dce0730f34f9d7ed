"""Leases: the right of one worker to run one periodic job for a while. Real time, in the database."""

from __future__ import annotations

from app.db.session import Database
from app.kernel.ids import lease_token

_TAKE = """
INSERT INTO job_leases (name, holder, token, expires_at, last_run_at)
VALUES (:name, :holder, :token, clock_timestamp() + make_interval(secs => :seconds), clock_timestamp())
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token,
    expires_at = excluded.expires_at, last_run_at = excluded.last_run_at
WHERE job_leases.expires_at < clock_timestamp()
   OR (job_leases.holder = excluded.holder
       AND job_leases.last_run_at < clock_timestamp() - make_interval(secs => :every))
RETURNING token
"""


_END = """
UPDATE job_leases SET expires_at = greatest(clock_timestamp(), last_run_at + make_interval(secs => :every))
WHERE name = :name AND holder = :holder
"""


async def take_turn(database: Database, *, name: str, holder: str, every: float, lease: float) -> bool:
    """Say whether this worker may run a job now: not before `every` seconds have passed since its own last run,
    and not while another worker's lease of `lease` seconds stands. `end_turn` gives the lease back.
    """
    async with database.transaction() as uow:
        row = await uow.execute(
            _TAKE,
            {
                "name": name,
                "holder": holder,
                "token": lease_token(),
                "seconds": max(lease, every),
                "every": every,
            },
        )
        return row.one_or_none() is not None


async def end_turn(database: Database, *, name: str, holder: str, every: float) -> None:
    """Let whoever looks first have the next turn, once `every` seconds have passed since this one began.

    Without this the next worker would have to wait for the lease of one that was killed between two turns.
    """
    async with database.transaction() as uow:
        await uow.execute(_END, {"name": name, "holder": holder, "every": every})
