"""A real `tidings run api` on real engines, in its own directory, configured by environment variables."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from contract.telemetry.running import Running
from fixtures.engines import Namespace
from fixtures.fork_server import TIDINGS, tidings_environment
from fixtures.installation_processes import ground, installation, running_installation
from fixtures.tables import REGION, Tables
from fixtures.topics import make_topics
from fixtures.use_cases import file_rows

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

__all__ = ["ground", "installation", "running_installation"]


class Answer(NamedTuple):
    status: int
    headers: Message
    body: Any


class Api(Running):
    """A process and requests to it."""

    bearer = ""
    delivery: "Api"
    """The delivery worker that processes its commits, if there is one."""

    @property
    def api_port(self) -> int:
        port: int = self.wait_for("listening")["port"]
        return port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.api_port), timeout=20)

    def head(self, method: str, path: str, body: bytes = b"", user: str = "anna", bearer: str = "") -> bytes:
        """Return headers with the tenant's API key on behalf of a user, or with the user's own token."""
        headers = [f"Authorization: Bearer {bearer or self.bearer}"] + (
            [] if bearer else [f"Tidings-User: {user}"]
        )
        lines = [
            *(f"{method} {path} HTTP/1.1", "Host: test", *headers),
            *("Content-Type: application/json", f"Content-Length: {len(body)}"),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def ask(
        self, method: str, path: str, body: object = None, user: str = "anna", bearer: str = ""
    ) -> Answer:
        """Send a request on a new connection."""
        sent = b"" if body is None else json.dumps(body).encode()
        with self.connect() as client:
            client.sendall(self.head(method, path, sent, user, bearer) + sent)
            return answer(client)


def answer(client: socket.socket) -> Answer:
    """Read the next response completely."""
    with HTTPResponse(client) as response:
        response.begin()
        body = response.read()
        return Answer(response.status, response.headers, json.loads(body) if body else None)


type Start = Callable[..., Api]


@pytest.fixture
def environment(tables_local: Tables, valkey: str, kafka: str, space: Namespace) -> dict[str, str]:
    make_topics(kafka, space)
    return enough(tables_local, valkey, kafka, space)


def enough(tables: Tables, valkey: str, kafka: str, space: Namespace) -> dict[str, str]:
    """The minimal settings of a process that serves."""
    return {
        "TIDINGS_INSTALLATION": "development",
        "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": kafka,
        "TIDINGS_KAFKA_TOPIC_PREFIX": space.topic_prefix,
        "TIDINGS_DYNAMO_ENDPOINT": tables.url,
        "TIDINGS_DYNAMO_TABLE_PREFIX": tables.prefix,
        "TIDINGS_DYNAMO_CAPACITY": "on_demand",
        "TIDINGS_REDIS_URL": valkey,
        "TIDINGS_REDIS_KEY_PREFIX": space.key_prefix,
        "TIDINGS_API_PORT": "0",
        "TIDINGS_API_CURSOR_SECRET": "a secret of the tests' own",
        "TIDINGS_PROCESS_DRAIN_S": "0.05",
        "TIDINGS_TELEMETRY_LOG_LEVEL": "info",
    }


@pytest.fixture
def bearer(tables_local: Tables, space: Namespace, tmp_path: Path) -> str:
    return make_tenant(tables_local, space, tmp_path)


def make_tenant(
    tables: Tables, space: Namespace, directory: Path, scopes: Sequence[Scope] = (Scope.ACT_AS_USER,)
) -> str:
    """Create a tenant and return an API key. Without `scopes`, the key may act as any user of the tenant."""

    async def made() -> str:
        clock, tenant = SystemClock(), TenantId(space.tenant)
        async with open_client(tables.url, REGION, tables.prefix) as client:
            rows = file_rows(client, directory)
            await TenantService(DynamoTenantStore(client, rows), clock).create(
                tenant,
                TenantSettings(
                    name="Acme", has_phone_login=True, phone_prefixes=("+4",), has_phone_search=True
                ),
            )
            keys = ApiKeyService(DynamoApiKeyStore(client, rows), clock)
            issued = await keys.issue(tenant, "tests", list(scopes))
        return issued.text.reveal()

    return asyncio.run(made())


def launch(
    words: tuple[str, ...], environment: dict[str, str], bearer: str, directory: Path, kind: str = "api"
) -> Api:
    process = Api(
        [*TIDINGS, "run", kind, *words], cwd=directory, environment=tidings_environment(environment)
    )
    process.bearer = bearer
    return process


@pytest.fixture
def start(environment: dict[str, str], bearer: str, tmp_path: Path) -> Iterator[Start]:
    """Start processes: `start("--processes", "2", TIDINGS_…=value)`. All of them stop with the test.

    `kind="delivery"` starts a delivery worker. Without one, chat lists are not updated.
    """
    started: list[Api] = []

    def run(*words: str, kind: str = "api", **changes: str) -> Api:
        process = launch(words, environment | changes, bearer, tmp_path, kind)
        started.append(process)
        return process

    yield run
    for process in started:
        process.close()


@pytest.fixture(scope="module")
def served(
    tables_local: Tables, valkey: str, kafka: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """One process of each kind for all tests of a file, without rate limits. Tests use their own users and chats."""
    space = Namespace()
    make_topics(kafka, space)
    unlimited = {f"TIDINGS_LIMITS_{whom}_BURST": "1000000" for whom in ("TENANT", "USER", "ADDRESS")}
    environment = enough(tables_local, valkey, kafka, space) | unlimited
    directory = tmp_path_factory.mktemp("served")
    bearer = make_tenant(tables_local, space, directory)
    process = launch((), environment, bearer, directory)
    process.delivery = launch((), environment, bearer, directory, "delivery")
    yield process
    process.delivery.close()
    process.close()
