"""Compare the installation's tables and topics with the declaration, for commands and at the start of a process."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import override

from tidings.app.settings.model import DynamoSettings, KafkaSettings
from tidings.app.wiring.options import kafka_config_for
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import AccessDeniedError, DynamoError, NotFoundError
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.lifecycle.component import (
    Component,
    Health,
    HealthTracker,
    ManagedResource,
    TaskSupervisor,
    describe_error,
)
from tidings.schema.plan import ChangeKind
from tidings.schema.tables import diff
from tidings.schema.tables.control_plane import (
    TableControlPlane,
    connect_control_plane,
    is_aws,
    unsupported_aspects,
)
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.descriptions import ObservedTable, read_table, read_ttl
from tidings.schema.tables.diff import TableAspect, TablesPlan
from tidings.schema.tables.model import Table
from tidings.schema.topics.control_plane import TopicControlPlane
from tidings.schema.topics.diff import TopicsPlan, plan_topics
from tidings.schema.topics.model import RETIRED, TOPICS, InstallationSize, desired_topic


def tables_control_plane(settings: DynamoSettings) -> TableControlPlane:
    if settings.endpoint is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "dynamo.endpoint is not set, so there is nothing to look at",
            hint='Run `tidings engines start`, or set dynamo.endpoint to "aws" or to the URL of an engine.',
        )
    client = connect_control_plane(settings.endpoint, settings.region)
    gaps: frozenset[TableAspect] = frozenset()
    if not is_aws(settings.endpoint):
        gaps = unsupported_aspects(client, settings.region)
    return TableControlPlane(client, settings.table_prefix, gaps)


def tables_plan(plane: TableControlPlane, settings: DynamoSettings) -> TablesPlan:
    tables = diff.apply_capacity_mode(TABLES, on_demand=settings.capacity == "on_demand")
    return diff.plan_tables(tables, plane.observe(tables), prefix=plane.prefix, not_known=plane.not_known)


def load_tables_plan(settings: DynamoSettings) -> TablesPlan:
    """Blocks: botocore."""
    return tables_plan(tables_control_plane(settings), settings)


def serving_blockers(plan: TablesPlan) -> list[str]:
    """Return the differences that keep a process from serving on these tables."""
    needed = tuple(
        replace(entry, changes=tuple(change for change in entry.changes if change.aspect in NEEDED))
        for entry in plan.entries
        if entry.declared is not None and entry.verdict is not ChangeKind.UNCHANGED
    )
    return list(replace(plan, entries=needed).drift)


def topics_kafka_config(settings: KafkaSettings) -> KafkaConfig:
    try:
        return kafka_config_for(settings)
    except ValueError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "kafka.bootstrap_servers is not set, so there is nothing to look at",
            hint="Run `tidings engines start`, or set kafka.bootstrap_servers.",
        ) from error


def topics_control_plane(settings: KafkaSettings) -> TopicControlPlane:
    return TopicControlPlane(topics_kafka_config(settings))


def topics_plan(
    plane: TopicControlPlane, settings: KafkaSettings, *, allow_reorder: bool = False
) -> TopicsPlan:
    """Blocks: librdkafka."""
    brokers, size = plane.brokers(), InstallationSize(settings.partitions)
    wants = [desired_topic(topic, plane.prefix, size, brokers) for topic in TOPICS]
    retired = [plane.prefix + name for name in RETIRED]
    seen = plane.observe(want.name for want in wants)
    return plan_topics(wants, seen, retired=retired, allow_reorder=allow_reorder)


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
    standing = {each.name: each for each in seen if each is not None}
    not_asked = frozenset(TableAspect) - NEEDED
    return list(diff.plan_tables(tables, standing, prefix=settings.table_prefix, not_known=not_asked).drift)


async def _seen(client: DynamoClient, table: Table) -> ObservedTable | None:
    try:
        seen = read_table(await client.describe(table.name))
        return replace(seen, ttl=read_ttl(await client.describe_ttl(table.name)))
    except NotFoundError:
        return None
