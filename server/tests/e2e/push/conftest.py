"""An installation with a push worker, and push services that run in a thread of the test."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme
from fixtures.apns_server import ApnsServer
from fixtures.http2_server import serve_http2
from fixtures.installation_processes import (
    InstallationProcess,
    InstallationProcesses,
    installation_on,
)
from fixtures.use_cases import UseCaseEnv
from fixtures.web_push_server import WebPushServer

from tidings.app.wiring.chats import build_chat_lists
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import DynamoKind
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, TenantId, UserId
from tidings.push.model import ApnsTarget, PushPreferences, PushRegistration, PushResult, PushTarget
from tidings.push.preferences import PushPreferencesService
from tidings.push.provider_config import ProviderConfig
from tidings.push.providers_cache import PushProviderService
from tidings.push.registrations import PushRegistrations
from tidings.push.store.alerts import DynamoAlertStore
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.store.registrations import DynamoRegistrationStore
from tidings.push.store.results import DynamoResultStore

DEADLINE_S = 600.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "e2e/push" in item.nodeid:
            item.add_marker(pytest.mark.deadline(DEADLINE_S))


@dataclass
class PushServices:
    """Push services in their own thread, so that tests with different event loops share them."""

    directory: Path
    apns: ApnsServer = field(default_factory=ApnsServer)
    browsers: WebPushServer = field(default_factory=WebPushServer)
    ca: trustme.CA = field(default_factory=trustme.CA)

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result(30)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self) -> None:
        for server in (self.apns.http2, self.browsers.http2):
            await self._stack.enter_async_context(serve_http2(server, self.directory, ca=self.ca))


@dataclass
class PushInstallation:
    processes: InstallationProcesses
    services: PushServices
    gateway: InstallationProcess
    worker: InstallationProcess

    @property
    def apns(self) -> ApnsServer:
        return self.services.apns

    def start_worker(self) -> None:
        (self.worker,) = self.processes.ready("push", **self._settings())

    def _settings(self) -> dict[str, str]:
        return push_settings(self.services)

    def kill_worker(self) -> None:
        self.worker.popen.kill()
        self.worker.popen.wait()

    @asynccontextmanager
    async def use_cases(self) -> AsyncIterator[UseCaseEnv]:
        async with self.processes.use_cases() as env:
            yield env

    async def set_provider(self, config: ProviderConfig) -> None:
        async with self.use_cases() as env:
            store = DynamoProviderStore(env.client, env.ring)
            await PushProviderService(store, SystemClock()).set(env.tenant, config)

    async def register(self, user: str, target: PushTarget, device: str = "phone") -> None:
        async with self.use_cases() as env:
            store = DynamoRegistrationStore(env.client, env.ring)
            await PushRegistrations(store, SystemClock()).register(
                PushRegistration(
                    tenant=env.tenant,
                    user=UserId(user),
                    device=DeviceId(device),
                    target=target,
                    registered_ms=0,
                )
            )

    async def set_preferences(self, user: str, preferences: PushPreferences) -> None:
        async with self.use_cases() as env:
            service = PushPreferencesService(DynamoAlertStore(env.client), SystemClock())
            await service.set(env.tenant, UserId(user), preferences)

    async def registered(self, user: str) -> list[PushTarget]:
        async with self.use_cases() as env:
            store = DynamoRegistrationStore(env.client, env.ring)
            return [each.target for each in await store.list(env.tenant, UserId(user))]

    async def read(self, user: str, chat: str, sequence: int) -> None:
        async with self.use_cases() as env:
            lists = build_chat_lists(env.client, env.keys, SystemClock())
            await lists.marking.read(self.key(chat), UserId(user), sequence)

    async def results(self, chat: str, sequence: int) -> list[PushResult]:
        async with self.use_cases() as env:
            return list(await DynamoResultStore(env.client).of_message(self.key(chat), sequence))

    async def wait_for_results(
        self, chat: str, sequence: int, *outcomes: str, within_s: float = 90.0
    ) -> list[PushResult]:
        """Wait until there are results and all have one of these outcomes; without outcomes, any."""
        async with asyncio.timeout(within_s):
            while True:
                found = await self.results(chat, sequence)
                if found and (not outcomes or {each.outcome.value for each in found} <= {*outcomes}):
                    return found
                await asyncio.sleep(0.2)

    def key(self, chat: str) -> ChatKey:
        return ChatKey(TenantId(self.processes.space.tenant), ChatId(chat))


def push_settings(services: PushServices) -> dict[str, str]:
    return {
        "PUSH_NETWORK": "local",
        "PUSH_TIMEOUT_S": "3",
        "PUSH_FIRST_RETRY_S": "0.1",  # so that an outage of minutes takes seconds
        "PUSH_APNS_URL": services.apns.http2.origin,
    }


def new_apns_target(number: int) -> ApnsTarget:
    return ApnsTarget(token=f"{number:064x}", topic="com.example.chat")


@pytest.fixture(scope="module")
def push_installation(
    ground: tuple[LocalCluster, DynamoKind], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PushInstallation]:
    directory = tmp_path_factory.mktemp("push")
    services = PushServices(directory)
    services.start()
    former = os.environ.get("SSL_CERT_FILE")
    os.environ["SSL_CERT_FILE"] = str(services.apns.http2.ca)
    try:
        with installation_on(*ground, directory) as processes:
            asyncio.run(processes.create_tenant())
            (gateway, _, _) = processes.ready("gateway", "delivery", "notifications")
            (worker,) = processes.ready("push", **push_settings(services))
            made = PushInstallation(processes, services, gateway, worker)
            asyncio.run(made.set_provider(services.apns.config()))
            yield made
    finally:
        if former is None:
            del os.environ["SSL_CERT_FILE"]
        else:
            os.environ["SSL_CERT_FILE"] = former
        services.stop()
