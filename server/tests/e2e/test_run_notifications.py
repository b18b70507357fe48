"""A send to many users over real processes and Kafka: workers are killed during it, and every user gets it once."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.telemetry.running import Running, eventually
from e2e.conftest import Api, enough, launch
from fixtures.engines import Namespace
from fixtures.fork_server import TIDINGS, run_tidings, tidings_environment
from fixtures.notifications import NotificationEnv, open_notification_env
from fixtures.tables import REGION, Tables
from fixtures.use_cases import file_rows

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

# Kafka drops a dead member soon, so that the test does not wait.
KAFKA = StartRequest(
    engines=frozenset({Engine.KAFKA}),
    kafka_extra={
        "group.consumer.session.timeout.ms": "2000",
        "group.consumer.heartbeat.interval.ms": "300",
    },
)
USERS = [f"user{number:04d}" for number in range(800)]


class Installation:
    """An API and any number of workers, in one directory."""

    def __init__(self, environment: dict[str, str], bearer: str, directory: Path) -> None:
        self._environment, self._directory = tidings_environment(environment), directory
        run_tidings("topics", "apply", cwd=directory, environment=self._environment)
        self.api: Api = launch((), environment, bearer, directory)
        self.workers: list[Running] = []

    def worker(self) -> Running:
        command = [*TIDINGS, "run", "notifications"]
        process = Running(command, cwd=self._directory, environment=self._environment)
        self.workers.append(process)
        return process

    def ok(self, method: str, path: str, body: object = None) -> Any:
        answer = self.api.ask(method, path, body, bearer=self.api.bearer)
        assert 200 <= answer.status < 300, answer.body
        return answer.body

    def wait_until_done(self, job: str, users: int) -> None:
        eventually(lambda: self.ok("GET", job)["done"] >= users or None, f"{users} users")

    def close(self) -> None:
        for process in (self.api, *self.workers):
            process.close()


async def make_server(tables: Tables, tenant: TenantId, directory: Path) -> str:
    clock = SystemClock()
    async with open_client(tables.url, REGION, tables.prefix) as client:
        rows = file_rows(client, directory)
        await TenantService(DynamoTenantStore(client, rows), clock).create(
            tenant, TenantSettings(name="Acme")
        )
        keys = ApiKeyService(DynamoApiKeyStore(client, rows), clock)
        return (await keys.issue(tenant, "tests", [Scope.NOTIFICATIONS])).text.reveal()


@pytest.fixture
def installation(
    tables_dynoxide: Tables,
    valkey: str,
    space: Namespace,
    own_fleet: Callable[[StartRequest], LocalCluster],
    tmp_path: Path,
) -> Iterator[Installation]:
    kafka = own_fleet(KAFKA).status()[0].node.address
    environment = enough(tables_dynoxide, valkey, kafka, space)
    bearer = asyncio.run(make_server(tables_dynoxide, TenantId(space.tenant), tmp_path))
    made = Installation(environment, bearer, tmp_path)
    yield made
    made.close()


@pytest.mark.long
def test_every_user_gets_a_notification_once_although_workers_are_killed(
    installation: Installation, tables_dynoxide: Tables, space: Namespace, tmp_path: Path
) -> None:
    installation.ok("PUT", "/v1/inboxes/default", {"title": "News"})
    sent = installation.ok(
        "POST", "/v1/inboxes/default/notifications", {"user_ids": USERS, "message": {"title": "hi"}}
    )
    job = f"/v1/jobs/{sent['job']}"
    for more in (1, 300):
        worker = installation.worker()
        installation.wait_until_done(job, min(installation.ok("GET", job)["done"] + more, len(USERS)))
        worker.popen.send_signal(signal.SIGKILL)
    installation.worker()
    eventually(lambda: installation.ok("GET", job)["state"] == "done" or None, "end of the job", 120)
    shown = installation.ok("GET", job)
    assert (shown["done"], shown["failed"]) == (800, 0)
    key_file = tmp_path / ".tidings" / "tidings.key"
    assert asyncio.run(everybody(tables_dynoxide, space.tenant, key_file)) == {(1, 1)}


async def everybody(tables: Tables, tenant: str, key_file: Path) -> set[tuple[int, int]]:
    """Return the number of notifications of each user, as counted and as listed."""
    async with open_notification_env(tables, tenant, key_file) as at:
        gate = asyncio.Semaphore(16)
        return set(await asyncio.gather(*(_has(at, user, gate) for user in USERS)))


async def _has(at: NotificationEnv, user: str, gate: asyncio.Semaphore) -> tuple[int, int]:
    async with gate:
        page = await at.cases.queries.page(at.owner(user), 10)
    return page.snapshot.counts.total, len(page.notifications)
