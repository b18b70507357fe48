"""Compare the installation's tables and topics with the declaration, for commands."""

from dataclasses import replace

from tidings.app.settings.model import DynamoSettings, KafkaSettings
from tidings.app.wiring.declared_tables import NEEDED
from tidings.app.wiring.options import kafka_config_for
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.plan import ChangeKind
from tidings.schema.tables import diff
from tidings.schema.tables.control_plane import (
    TableControlPlane,
    connect_control_plane,
    is_aws,
    unsupported_aspects,
)
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.diff import TableAspect, TablesPlan
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
