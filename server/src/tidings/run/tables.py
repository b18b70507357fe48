"""The installation's tables as they stand beside the declaration, for commands: everything that can differ."""

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import Verdict
from tidings.run.declared_tables import NEEDED
from tidings.run.settings.model import DynamoSettings
from tidings.tables import diff
from tidings.tables.control import ControlPlane, connect, find_gaps, is_aws
from tidings.tables.declaration import TABLES
from tidings.tables.diff import Aspect, Plan


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
    needed = [
        diff.TablePlan(
            entry.name,
            entry.verdict,
            tuple(change for change in entry.changes if change.aspect in NEEDED),
        )
        for entry in plan.tables
        if entry.table is not None and entry.verdict is not Verdict.UNCHANGED
    ]
    return list(Plan(tuple(needed)).drift)
