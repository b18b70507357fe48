"""Tables and topics as declared, before any process starts. Blocks: botocore and librdkafka."""

from tidings.kernel.reconcile import Step, Verdict
from tidings.run import tables, topics
from tidings.run.settings import Settings
from tidings.run.settings.model import DynamoSettings
from tidings.tables.apply import apply as apply_tables
from tidings.topics.apply import apply as apply_topics

_TO_DO = (Verdict.CREATE, Verdict.CHANGE)


def lay_tables(settings: DynamoSettings) -> str:
    plane = tables.plane_of(settings)
    plan = tables.plan_of(plane, settings)
    apply_tables(plane, plan, _silent)
    return _words(len(plan.tables), sum(each.verdict in _TO_DO for each in plan.tables))


def lay_topics(settings: Settings) -> str:
    plane = topics.plane_of(settings.kafka)
    plan = topics.plan_of(plane, settings.kafka)
    apply_topics(plane, plan, _silent)
    return _words(len(plan.topics), sum(each.verdict in _TO_DO for each in plan.topics))


def _words(count: int, made: int) -> str:
    return f"{count}, {made} made or changed" if made else f"{count} as declared"


def _silent(step: Step) -> None:
    """Steps for nobody: a spinner turns meanwhile."""
