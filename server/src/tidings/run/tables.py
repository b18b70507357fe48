"""The installation's tables as they stand beside the declaration, for commands: everything that can differ."""

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.reconcile import ChangeKind
from tidings.run.declared_tables import NEEDED
from tidings.run.settings.model import DynamoSettings
from tidings.tables import diff
from tidings.tables.control import TableControlPlane, connect_control_plane, is_aws, unsupported_aspects
from tidings.tables.declaration import TABLES
from tidings.tables.diff import TableAspect, TablesPlan


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
    """What keeps a process from serving on these tables."""
    needed = [
        diff.TablePlan(
            entry.name,
            entry.verdict,
            tuple(change for change in entry.changes if change.aspect in NEEDED),
        )
        for entry in plan.tables
        if entry.table is not None and entry.verdict is not ChangeKind.UNCHANGED
    ]
    return list(TablesPlan(tuple(needed)).drift)
