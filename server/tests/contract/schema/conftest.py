"""A separate installation for each test: the control plane on a real engine, with its own prefix."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from click.testing import CliRunner, Result
from fixtures.engines import Dynamo, Namespace

from tidings.cli import tidings
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.schema.tables.apply import POLL_POLICY, apply_tables
from tidings.schema.tables.control_plane import TableControlPlane, connect_control_plane, unsupported_aspects
from tidings.schema.tables.declaration import BY_NAME, TABLES
from tidings.schema.tables.descriptions import create_table
from tidings.schema.tables.diff import TablesPlan, plan_tables
from tidings.schema.tables.model import Table

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

REGION = "us-east-1"


@dataclass(frozen=True)
class Installation:
    """An installation that tests describe, change manually and run commands on."""

    kind: str
    url: str
    prefix: str
    plane: TableControlPlane
    client: "DynamoDBClient"

    def name(self, table: str) -> str:
        return self.prefix + table

    def plan(self, tables: tuple[Table, ...] = TABLES) -> TablesPlan:
        seen = self.plane.observe(tables)
        return plan_tables(tables, seen, prefix=self.prefix, not_known=self.plane.not_known)

    def apply(self, tables: tuple[Table, ...] = TABLES) -> None:
        apply_tables(
            self.plane, self.plan(tables), lambda _: None, replace(POLL_POLICY, timeout_s=60, effect_s=10)
        )

    def run(self, *arguments: str, **settings: str) -> Result:
        """Run `tidings tables …` with the settings in the environment."""
        environment = {
            "TIDINGS_INSTALLATION": "development",
            "TIDINGS_DYNAMO_ENDPOINT": self.url,
            "TIDINGS_DYNAMO_TABLE_PREFIX": self.prefix,
            **{f"TIDINGS_DYNAMO_{key.upper()}": value for key, value in settings.items()},
        }
        return CliRunner(env=environment).invoke(tidings, ["tables", *arguments])

    def make(self, table: str, tags: dict[str, str] | None = None, **changes: Any) -> None:
        """Create a declared table with some other parameters."""
        request: Any = create_table(BY_NAME[table], self.name(table), tags or {}) | changes
        self.client.create_table(**{name: value for name, value in request.items() if value is not None})


def install(kind: str, url: str, prefix: str) -> Installation:
    client = connect_control_plane(url, REGION)
    return Installation(
        kind, url, prefix, TableControlPlane(client, prefix, unsupported_aspects(client, REGION)), client
    )


@pytest.fixture
def installation(
    dynamo: Dynamo, space: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Installation:
    monkeypatch.chdir(tmp_path)
    return install(dynamo.kind, dynamo.url, space.table_prefix)


@pytest.fixture(params=["local", "dynoxide"])
def fresh_installation(
    request: pytest.FixtureRequest, fleets: Callable[[StartRequest], LocalCluster], space: Namespace
) -> Installation:
    """Use a new engine: DynamoDB Local builds no further index once seven tables have a TTL."""
    kind: Literal["local", "dynoxide"] = request.param
    if kind == "dynoxide":
        return install(kind, request.getfixturevalue("dynamo_dynoxide").url, space.table_prefix)
    fleet = fleets(StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo=kind))
    return install(kind, f"http://{fleet.status()[0].node.address}", space.table_prefix)


@pytest.fixture
def applied(installation: Installation) -> Installation:
    result = installation.run("apply")
    assert result.exception is None, result.output
    return installation
