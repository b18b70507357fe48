"""Before a process serves: are the tables there, and shaped as declared? What else may differ is `tidings tables check`'s.

Asked by the client that the process has anyway. botocore would take longer to load than everything else together.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import override

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import AccessDeniedError, DynamoError, NotFoundError
from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health, HealthTracker, describe_error
from tidings.platform.lifecycle.tasks import TaskSupervisor
from tidings.run.held import ManagedResource
from tidings.run.settings.model import DynamoSettings
from tidings.tables import diff
from tidings.tables.declaration import TABLES
from tidings.tables.diff import TableAspect
from tidings.tables.model import Table
from tidings.tables.seen import ObservedTable, read_table, read_ttl

_RETRY_S = 2.0
NEEDED = frozenset(
    {TableAspect.TABLE, TableAspect.KEYS, TableAspect.INDEX, TableAspect.TTL, TableAspect.STREAM}
)
"""Without these, reads fail or things are never deleted or told; the rest is money and safety, not function."""


class DeclaredTables(Component):
    """Nothing is served on tables that are missing or shaped otherwise.

    An engine that does not answer is waited for, and the process is not ready meanwhile.
    """

    name = "tables"
    start_s = 60.0

    def __init__(
        self,
        settings: DynamoSettings,
        client: ManagedResource[DynamoClient],
        tasks: TaskSupervisor,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._client = client
        self._tasks = tasks
        self._pulse = HealthTracker(clock, "the tables could not be looked at")
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
            faults = await _unfit(self._client.value, self._settings)
        except AccessDeniedError as error:
            raise TidingsError(Code.TABLES_FAILED, f"Could not look at the tables: {error}") from error
        except DynamoError as error:
            self._pulse.failed(describe_error(error))
            return False
        if faults:
            raise TidingsError(
                Code.TABLES_DRIFT,
                "\n".join(["The tables are not as declared: run `tidings tables apply`.", *faults]),
                details={"drift": faults},
            )
        self._pulse.answered()
        return True


async def _unfit(client: DynamoClient, settings: DynamoSettings) -> Sequence[str]:
    """What keeps a process from serving on these tables."""
    tables = diff.apply_capacity_mode(TABLES, on_demand=settings.capacity == "on_demand")
    seen = await asyncio.gather(*(_seen(client, table) for table in tables))
    standing = {each.name: each for each in seen if each is not None}
    not_asked = frozenset(TableAspect) - NEEDED
    return list(diff.plan_tables(tables, standing, prefix=settings.table_prefix, not_known=not_asked).drift)


async def _seen(client: DynamoClient, table: Table) -> ObservedTable | None:
    try:
        seen = read_table(await client.describe(table.name))
        return replace(seen, ttl=read_ttl(await client.describe_ttl(table.name)))
    except NotFoundError:
        return None
