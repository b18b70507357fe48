"""Mails over real processes, Kafka and a real SMTP server: a worker is killed while it sends, and no mail is lost."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import enough
from e2e.test_run_notifications import KAFKA, Installation
from fixtures.engines import Namespace
from fixtures.smtp_server import SmtpServer, open_smtp_server
from fixtures.tables import REGION, Tables
from fixtures.use_cases import file_rows

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import StartRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.open_client import open_client
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

USERS = [f"user{number:03d}" for number in range(120)]
CONNECTIONS = 4


@contextmanager
def smtp_thread() -> Iterator[SmtpServer]:
    """Run the SMTP server in a thread: the test itself does not await."""
    ready, stop = threading.Event(), threading.Event()
    found: list[SmtpServer] = []

    async def serve() -> None:
        async with open_smtp_server() as server:
            found.append(server)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield found[0]
    finally:
        stop.set()
        thread.join(30)


async def make_server(tables: Tables, tenant: TenantId, directory: Path) -> str:
    clock = SystemClock()
    async with open_client(tables.url, REGION, tables.prefix) as client:
        rows = file_rows(client, directory)
        tenants = TenantService(DynamoTenantStore(client, rows), clock)
        await tenants.create(tenant, TenantSettings(name="Acme"))
        keys = ApiKeyService(DynamoApiKeyStore(client, rows), clock)
        return (await keys.issue(tenant, "tests", [Scope.NOTIFICATIONS, Scope.USERS])).text.reveal()


@pytest.mark.long
def test_each_user_receives_a_mail_although_a_worker_is_killed(
    tables_dynoxide: Tables,
    valkey: str,
    space: Namespace,
    own_fleet: Callable[[StartRequest], LocalCluster],
    tmp_path: Path,
) -> None:
    kafka = own_fleet(KAFKA).status()[0].node.address
    bearer = asyncio.run(make_server(tables_dynoxide, TenantId(space.tenant), tmp_path))
    with smtp_thread() as smtp:
        environment = enough(tables_dynoxide, valkey, kafka, space) | {
            "TIDINGS_MAIL_SMTP_URL": smtp.url,
            "TIDINGS_MAIL_SENDER": "news@shop.example",
            "TIDINGS_MAIL_PUBLIC_URL": "https://api.shop.example",
            # A claim ends after twice this and ten seconds.
            "TIDINGS_MAIL_TIMEOUT_S": "2",
            "TIDINGS_MAIL_MAX_CONNECTIONS": str(CONNECTIONS),
        }
        installation = Installation(environment, bearer, tmp_path)
        try:
            send_through_a_kill(installation, smtp)
        finally:
            installation.close()
    ids = {str(mail["To"]): set(smtp.ids_for(str(mail["To"]))) for mail in smtp.mails}
    assert all(len(each) == 1 for each in ids.values()), "a repeated mail has the same Message-ID"
    repeated = Counter(str(mail["To"]) for mail in smtp.mails).total() - len(USERS)
    assert 0 <= repeated <= CONNECTIONS, "only mails in flight at the kill are repeated"


def send_through_a_kill(installation: Installation, smtp: SmtpServer) -> None:
    for user in USERS:
        installation.ok("POST", "/v1/users", {"id": user, "email": f"{user}@home.example"})
    installation.ok("PUT", "/v1/inboxes/default", {"title": "News", "channels": {"email": True}})
    smtp.delay_s = 0.05
    installation.ok(
        "POST", "/v1/inboxes/default/notifications", {"user_ids": USERS, "message": {"title": "hi"}}
    )
    worker = installation.worker()
    worker.wait_for("process started")
    eventually(lambda: len(smtp.mails) >= 20 or None, "mails", 60)
    worker.popen.send_signal(signal.SIGKILL)
    installation.worker()
    addresses = {f"{user}@home.example" for user in USERS}
    eventually(lambda: {str(mail["To"]) for mail in list(smtp.mails)} == addresses or None, "all mails", 120)
    states = "/v1/inboxes/default/users/{}/emails"

    def is_sent(user: str) -> bool:
        return [each["state"] for each in installation.ok("GET", states.format(user))["emails"]] == ["sent"]

    eventually(lambda: all(map(is_sent, USERS[::10])) or None, "results", 60)
