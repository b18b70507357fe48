"""Tables and topics as declared, before any process starts. Blocks: botocore and librdkafka."""

from tidings.kernel.reconcile import ChangeKind, ProgressEvent
from tidings.run import tables, topics
from tidings.run.settings import Settings
from tidings.run.settings.model import DynamoSettings
from tidings.tables.apply import apply_tables
from tidings.topics.apply import apply_topics

_TO_DO = (ChangeKind.CREATE, ChangeKind.CHANGE)


def create_tables(settings: DynamoSettings) -> str:
    plane = tables.tables_control_plane(settings)
    plan = tables.tables_plan(plane, settings)
    apply_tables(plane, plan, _silent)
    return _step_text(len(plan.tables), sum(each.verdict in _TO_DO for each in plan.tables))


def create_topics(settings: Settings) -> str:
    plane = topics.topics_control_plane(settings.kafka)
    plan = topics.topics_plan(plane, settings.kafka)
    apply_topics(plane, plan, _silent)
    return _step_text(len(plan.topics), sum(each.verdict in _TO_DO for each in plan.topics))


def _step_text(count: int, made: int) -> str:
    return f"{count}, {made} made or changed" if made else f"{count} as declared"


def _silent(step: ProgressEvent) -> None:
    """Steps for nobody: a spinner turns meanwhile."""
