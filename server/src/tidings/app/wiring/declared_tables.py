"""Check at the start of a process that the tables have the declared schema. Uses the data plane's client only.

`tables.py` has the functions for commands, which load botocore: it takes half a second and 20 MB.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import override

from tidings.app.settings.model import DynamoSettings
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import AccessDeniedError, DynamoError, NotFoundError
from tidings.platform.lifecycle.component import (
    Component,
    Health,
    HealthTracker,
    ManagedResource,
    TaskSupervisor,
    describe_error,
)
from tidings.schema.tables import diff
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.descriptions import ObservedTable, read_table, read_ttl
from tidings.schema.tables.diff import TableAspect
from tidings.schema.tables.model import Table

_RETRY_S = 2.0
NEEDED = frozenset(
    {TableAspect.TABLE, TableAspect.KEYS, TableAspect.INDEX, TableAspect.TTL, TableAspect.STREAM}
)
"""Without these, reads fail, or rows are never deleted or streamed. Other differences affect cost and safety only."""


class DeclaredTables(Component):
    """Refuse to serve if tables are missing or have another schema.

    While DynamoDB does not answer, the component waits and the process is not ready.
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
    """Return the differences that prevent a process from using these tables."""
    tables = diff.apply_capacity_mode(TABLES, on_demand=settings.capacity == "on_demand")
    seen = await asyncio.gather(*(_seen(client, table) for table in tables))
    observed = {each.name: each for each in seen if each is not None}
    not_asked = frozenset(TableAspect) - NEEDED
    return list(diff.plan_tables(tables, observed, prefix=settings.table_prefix, not_known=not_asked).drift)


async def _seen(client: DynamoClient, table: Table) -> ObservedTable | None:
    try:
        seen = read_table(await client.describe(table.name))
        return replace(seen, ttl=read_ttl(await client.describe_ttl(table.name)))
    except NotFoundError:
        return None
