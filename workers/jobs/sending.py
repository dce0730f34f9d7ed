"""The send lane: start queued sends as call slots come free, call the provider, settle outcomes in batches."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import structlog

from app.campaigns.operations.call import still_wanted
from app.campaigns.operations.finish import CallOutcome, settle_outcomes
from app.campaigns.operations.start import StartedCall, start
from app.faults.points import reach
from app.messaging.gateways.base import NotSent, SendResult, Unknown
from workers.context import Context
from workers.lane import Lane

log = structlog.get_logger(__name__)

LARGEST_START = 32
SETTLE_BATCH = 100
UNSETTLED_FOR_A_SLOT = 2
LONGEST_IDLE_SECONDS = 0.5
SHORTEST_IDLE_SECONDS = 0.02
FENCE_AFTER_SECONDS = 0.2


@dataclass(slots=True)
class SendPipeline:
    """Calls in the air and outcomes that wait to be written."""

    context: Context
    calls: set[asyncio.Task[None]] = field(default_factory=set)
    outcomes: asyncio.Queue[CallOutcome] = field(default_factory=asyncio.Queue)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    unsettled: int = 0
    """Attempts that were started and whose outcome is not written yet."""

    async def start_some(self) -> bool:
        """Start as many sends as there is room for; True where another round may find more.

        There is room for so many calls in the air, and for so many outcomes that are not written yet: a database
        that writes more slowly than the provider answers must not let leases run out, nor a kill lose much.
        """
        context = self.context
        free = min(
            context.call_slots - len(self.calls), context.call_slots * UNSETTLED_FOR_A_SLOT - self.unsettled
        )
        if free <= 0:
            await self._some_room()
            return True
        slots = min(free, LARGEST_START)
        calls = await start(
            self.context.database,
            now=self.context.now(),
            slots=slots,
            policy=self.context.policy,
            organisation=self.context.organisation,
            lease_seconds=self.context.lease_seconds,
        )
        committed = time.monotonic()
        self.unsettled += len(calls)
        for call in calls:
            task = asyncio.create_task(self._call(call, committed))
            self.calls.add(task)
            task.add_done_callback(self.calls.discard)
        return len(calls) == slots

    async def settle_for_ever(self) -> None:
        """Write outcomes as they come, many in one transaction; one that cannot be written is left to the reaper."""
        while True:
            batch = [await self.outcomes.get()]
            while len(batch) < SETTLE_BATCH and not self.outcomes.empty():
                batch.append(self.outcomes.get_nowait())
            await self._settle(batch)
            self._have_settled(len(batch))
            for _ in batch:
                self.outcomes.task_done()

    async def finish(self, *, seconds: float) -> None:
        """Wait for the calls in the air and write what they brought, for at most `seconds`."""
        if self.calls:
            await asyncio.wait(self.calls, timeout=seconds)
        try:
            await asyncio.wait_for(self.outcomes.join(), seconds)
        except TimeoutError:
            log.warning("send.outcomes_left", count=self.outcomes.qsize())

    async def _call(self, call: StartedCall, committed: float) -> None:
        try:
            result = await self._call_provider(call, committed)
            reach("call.after")
        except BaseException:  # nobody will ever write what came of it: the reaper's lease does
            self._have_settled(1)
            raise
        self.outcomes.put_nowait(CallOutcome(call.attempt_id, result, "finish"))

    async def _call_provider(self, call: StartedCall, committed: float) -> SendResult:
        """Call once, unless the lease would run out first or the world moved while the call waited."""
        reach("call.before")
        if time.monotonic() - committed > FENCE_AFTER_SECONDS:
            refusal = await self._ask_again(call)
            if refusal is not None:
                return refusal
        # After the question, which may have had to wait for a connection itself.
        if time.monotonic() - committed + self.context.call_seconds >= self.context.lease_seconds:
            return NotSent("lease_too_short")
        try:
            return await self.context.gateways[call.provider].send(
                call.message, deadline=self.context.call_seconds
            )
        except Exception as error:  # the gateway promises values; whatever breaks that promise is unknown
            log.exception("send.gateway_fault", attempt_id=call.attempt_id)
            return Unknown(type(error).__name__)

    async def _ask_again(self, call: StartedCall) -> NotSent | None:
        """Say why a call that had to wait is not made; without a database nobody knows, so it is not made."""
        try:
            wanted = await still_wanted(self.context.database, call)
        except Exception:  # nothing has been sent: that much is certain
            log.exception("send.fence_fault", attempt_id=call.attempt_id)
            return NotSent("fence_unknown")
        return None if wanted else NotSent("no_longer_wanted", 0.0)

    async def _settle(self, batch: list[CallOutcome]) -> None:
        for tries in range(5):
            try:
                await settle_outcomes(self.context.database, batch, now=self.context.now())
                return
            except Exception:  # the database may be away for a moment; the outcomes are still known
                log.exception("send.settle_fault", outcomes=len(batch), tries=tries)
                await asyncio.sleep(0.2 * 2**tries)
        if len(batch) > 1:
            for outcome in batch:
                await self._settle([outcome])

    def _have_settled(self, number: int) -> None:
        self.unsettled -= number
        self.settled.set()

    async def _some_room(self) -> None:
        """Wait until a call ends or outcomes are written, for at most a second."""
        self.settled.clear()
        written = asyncio.create_task(self.settled.wait())
        await asyncio.wait({written, *self.calls}, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
        written.cancel()


def make_send_lane(pipeline: SendPipeline) -> Lane:
    """Return the send lane over a pipeline."""

    async def idle() -> float:
        return await _seconds_until_next(pipeline.context)

    return Lane("send", work=pipeline.start_some, idle=idle)


async def _seconds_until_next(context: Context) -> float:
    async with context.database.reading() as uow:
        row = (
            await uow.execute(
                "SELECT extract(epoch FROM min(not_before) - clock_timestamp())::float8 AS seconds "
                "FROM sends WHERE status = 'queued'"
            )
        ).one()
    if row.seconds is None:
        return LONGEST_IDLE_SECONDS
    seconds: float = row.seconds
    return min(LONGEST_IDLE_SECONDS, max(SHORTEST_IDLE_SECONDS, seconds))
