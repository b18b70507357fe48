"""Members of a large group are added over real processes and Kafka: workers are killed, and everyone joins once."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import enough
from e2e.test_run_notifications import KAFKA, Installation
from fixtures.engines import Namespace
from fixtures.tables import REGION, Tables
from fixtures.use_cases import UseCaseEnv, file_rows

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import EntryKind
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

USERS = [f"user{number:04d}" for number in range(2_000)]
POLL_S = 0.2
"""Time between two requests for the progress, which the rate limit of a user allows."""


async def make_tenant(tables: Tables, tenant: TenantId, directory: Path) -> str:
    """Create a tenant with large groups, and return an API key that acts for its users."""
    clock = SystemClock()
    async with open_client(tables.url, REGION, tables.prefix) as client:
        rows = file_rows(client, directory)
        settings = TenantSettings(name="Acme", max_members=2_001)
        await TenantService(DynamoTenantStore(client, rows), clock).create(tenant, settings)
        keys = ApiKeyService(DynamoApiKeyStore(client, rows), clock)
        return (await keys.issue(tenant, "tests", [Scope.ACT_AS_USER])).text.reveal()


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
    bearer = asyncio.run(make_tenant(tables_dynoxide, TenantId(space.tenant), tmp_path))
    made = Installation(environment, bearer, tmp_path)
    yield made
    made.close()


@pytest.mark.long
def test_everyone_joins_once_although_workers_are_killed(
    installation: Installation, tables_dynoxide: Tables, space: Namespace, tmp_path: Path
) -> None:
    def ask(method: str, path: str, body: object = None) -> Any:
        answer = installation.api.ask(method, path, body, user="anna")
        assert 200 <= answer.status < 300, answer.body
        return answer.body

    group = {"type": "group", "name": "everyone", "members": USERS, "client_message_id": "many"}
    made = ask("POST", "/v1/chats", group)
    job = f"/v1/chats/{made['id']}/member-jobs/{made['job']}"
    for more in (1, 600):
        worker = installation.worker()
        enough_done = min(ask("GET", job)["done"] + more, len(USERS))
        eventually(partial(is_done, ask, job, enough_done), "more members", every_s=POLL_S)
        worker.popen.send_signal(signal.SIGKILL)
    installation.worker()
    eventually(lambda: ask("GET", job)["state"] == "done" or None, "end of the job", every_s=POLL_S)
    shown = ask("GET", job)
    assert (shown["total"], shown["done"], shown["failed"]) == (1_905, 1_905, 0)
    assert ask("POST", "/v1/chats", group) == made
    assert ask("GET", f"/v1/chats/{made['id']}")["member_count"] == 2_001
    chat = ChatKey(TenantId(space.tenant), ChatId(made["id"]))
    named = asyncio.run(joined(tables_dynoxide, chat, tmp_path / ".tidings" / "tidings.key"))
    assert named == Counter(dict.fromkeys(("anna", *USERS), 1))
    assert listed(ask, made["id"]) == {"anna", *USERS}


def is_done(ask: Callable[..., Any], job: str, users: int) -> bool | None:
    return ask("GET", job)["done"] >= users or None


def listed(ask: Callable[..., Any], chat: str) -> set[str]:
    """Return the members of the chat as the API lists them, page by page."""
    users, cursor = set[str](), ""
    while True:
        page = ask("GET", f"/v1/chats/{chat}/members?limit=200{cursor}")
        users |= {member["user"] for member in page["members"]}
        if "cursor" not in page:
            return users
        cursor = f"&cursor={page['cursor']}"


async def joined(tables: Tables, chat: ChatKey, key_file: Path) -> Counter[str]:
    """Count how often the chat's log names each user as joining."""
    async with open_client(tables.url, REGION, tables.prefix) as client:
        reader = UseCaseEnv(client, chat.tenant, key_file).reader
        entries = await reader.range(chat, 0, 10**9, 500, newest_first=False)
    kinds = {EntryKind.CREATE, EntryKind.JOIN}
    return Counter(user for entry in entries if entry.kind in kinds for user in entry.users)
