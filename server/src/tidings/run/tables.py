"""The installation's tables as they stand beside the declaration: for `tidings tables`, and before a process serves."""

import asyncio
from typing import override

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import Verdict
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health, Pulse, describe
from tidings.platform.lifecycle.tasks import Tasks
from tidings.platform.telemetry import logs
from tidings.run.settings.model import DynamoSettings
from tidings.tables import diff
from tidings.tables.control import ControlPlane, connect, find_gaps, is_aws
from tidings.tables.declaration import TABLES
from tidings.tables.diff import Aspect, Plan

log = logs.get(__name__)

_RETRY_S = 2.0
# Without these, reads fail or things are never deleted or told; the rest is money and safety, not function.
_NEEDED = {Aspect.TABLE, Aspect.KEYS, Aspect.INDEX, Aspect.TTL, Aspect.STREAM}


def plane_of(settings: DynamoSettings) -> ControlPlane:
    if settings.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "dynamo.endpoint is not set, so there is nothing to look at",
            hint='Run `tidings engines start`, or set dynamo.endpoint to "aws" or to the URL of an engine.',
        )
    client = connect(settings.endpoint, settings.region)
    gaps: frozenset[Aspect] = frozenset()
    if not is_aws(settings.endpoint):
        gaps = find_gaps(client, settings.region)
    return ControlPlane(client, settings.table_prefix, gaps)


def plan_of(plane: ControlPlane, settings: DynamoSettings) -> Plan:
    tables = diff.wanted(TABLES, on_demand=settings.capacity == "on_demand")
    return diff.plan(tables, plane.observe(tables), prefix=plane.prefix, not_known=plane.not_known)


def look(settings: DynamoSettings) -> Plan:
    """Blocks: botocore."""
    return plan_of(plane_of(settings), settings)


def unfit(plan: Plan) -> list[str]:
    """What keeps a process from serving on these tables."""
    declared = [entry for entry in plan.tables if entry.table is not None]
    needed = [
        diff.TablePlan(
            entry.name,
            entry.verdict,
            tuple(change for change in entry.changes if change.aspect in _NEEDED),
        )
        for entry in declared
        if entry.verdict is not Verdict.UNCHANGED
    ]
    return list(Plan(tuple(needed)).drift)


class DeclaredTables(Component):
    """Nothing is served on tables that are missing or shaped otherwise.

    An engine that does not answer is waited for, and the process is not ready meanwhile.
    """

    name = "tables"
    start_s = 60.0

    def __init__(self, settings: DynamoSettings, tasks: Tasks, clock: Clock) -> None:
        self._settings = settings
        self._tasks = tasks
        self._pulse = Pulse(clock, "the tables could not be looked at")
        self._looking: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        if not await self._look():
            self._looking = self._tasks.spawn("look at tables", self._look_again(), may_end=True)

    @override
    async def stop(self) -> None:
        if self._looking is not None and not self._looking.done():
            await self._tasks.stop(self._looking)

    @override
    def health(self) -> Health:
        return self._pulse.health()

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_RETRY_S)
            if await self._look():
                return

    async def _look(self) -> bool:
        try:
            plan = await asyncio.to_thread(look, self._settings)
        except TidingsError as error:
            if not error.retryable:
                raise
            self._pulse.failed(describe(error))
            return False
        refuse_unfit(plan)
        self._pulse.answered()
        return True


def refuse_unfit(plan: Plan) -> None:
    if faults := unfit(plan):
        raise TidingsError(
            Code.TABLES_DRIFT,
            "\n".join(["The tables are not as declared: run `tidings tables apply`.", *faults]),
            details={"drift": faults},
        )
    if plan.drift:
        log.warning("the tables differ from the declaration: see `tidings tables plan`", drift=plan.drift)
