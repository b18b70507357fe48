"""`tidings drill` on the engines of one machine: what it measures, and that it changes nothing in production."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fixtures.fork_server import end_tidings, run_tidings, tidings_environment
from fixtures.tables import REGION
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import StartRequest
from tidings.engines.snapshots import take_snapshot
from tidings.kernel.clock import SystemClock
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.declaration import TABLES
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_PAGE = (Path(__file__).parents[3] / "docs/howto/rehearse-a-recovery.md").read_text()
_TENANT = "acme"
_PREFIX = "tidings-"
_TIMEOUT_S = 900
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not dynoxide.is_installed(default_cache()), reason="dynoxide is not built on this machine"
    ),
]


class Production:
    """The engines of a directory with a tenant and a chat. No process of it runs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cluster = LocalCluster(home / ".tidings", default_cache(), dies_with_us=True)

    @property
    def database(self) -> Path:
        return dynoxide.database(self.cluster.find("dynamo").node)

    async def say(self, *texts: str) -> None:
        url = f"http://{self.cluster.find('dynamo').node.address}"
        async with open_client(url, REGION, _PREFIX) as client:
            env = UseCaseEnv(client, _TENANT, self.home / ".tidings" / "tidings.key")
            store = DynamoTenantStore(client, env.authentic)
            if await store.read(env.tenant) is None:
                await TenantService(store, SystemClock()).create(env.tenant, TenantSettings(name="Acme"))
            chat = await env.manage.direct(env.tenant, ANNA, BEN)
            for text in texts:
                await env.send(chat, ANNA, text, after=None)

    def run(self, *words: str) -> str:
        return run_tidings(*words, cwd=self.home, environment=tidings_environment({}), timeout_s=_TIMEOUT_S)

    def drill(self, *words: str) -> dict[str, Any]:
        assert f"```sh\ntidings drill {words[0]}\n```" in _PAGE
        found: dict[str, Any] = json.loads(self.run("drill", *words, "--wait-s=0", "--json"))
        return found

    def content(self) -> dict[str, list[tuple[str, ...]]]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            return {
                table.name: sorted(database.execute(f'SELECT pk, sk, item_json FROM "{_PREFIX}{table.name}"'))
                for table in TABLES
            }


@pytest.fixture
def production(tmp_path: Path) -> Iterator[Production]:
    made = Production(tmp_path)
    made.cluster.start(StartRequest(dynamo="dynoxide", on_disk=True))
    try:
        made.run("tables", "apply")
        made.run("topics", "apply")
        yield made
    finally:
        made.cluster.stop()


async def test_a_drill_counts_lost_entries_reads_the_copy_and_changes_nothing(production: Production) -> None:
    await production.say("one", "two")
    snapshot = take_snapshot(production.cluster, production.home / "snapshots", datetime.now(UTC))
    await production.say("three", "four", "five")
    before = production.content()
    restored = production.drill("restore", "--snapshot", str(snapshot.path))
    assert restored["rpo_entries"] == 3
    assert 0 < restored["rpo_s"] < restored["rpo_s"] + restored["rto_s"] <= _TIMEOUT_S
    assert restored["has_read_old_message"]
    taken_over = production.drill("failover")
    assert taken_over["rpo_entries"] == 0
    assert taken_over["has_read_old_message"]
    assert 0 < taken_over["rto_s"] <= taken_over["delivered_s"]
    assert production.content() == before
    assert not (production.home / ".tidings" / "drill").exists()
    # Without their wrapping key, the messages of a copy are lost, although the tables are complete.
    (production.home / ".tidings" / "tidings.key").rename(production.home / "lost.key")
    refused = end_tidings(
        *("drill", "restore", "--snapshot", str(snapshot.path), "--wait-s=0"),
        cwd=production.home,
        environment=tidings_environment({}),
        timeout_s=_TIMEOUT_S,
    )
    assert (refused.returncode, "[keys_unavailable]" in refused.stderr) == (1, True)
    assert not (production.home / ".tidings" / "drill").exists()
