"""Compare the installation's tables with the declaration, for commands."""

from dataclasses import replace

from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring.declared_tables import NEEDED
from tidings.kernel.errors import Code, TidingsError
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
