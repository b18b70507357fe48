"""Use REST and the socket of an installation in ways that the harness does not, while its metrics are recorded."""

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
from websockets import WebSocketException
from websockets.asyncio.client import connect

from faults.recorded_receivers import SLEEPER, Receivers, connect_receivers
from faults.whole.installation import FaultInstallation
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId


async def _issue_key(installation: FaultInstallation) -> str:
    async with installation.processes.use_cases() as use_cases:
        store = DynamoApiKeyStore(use_cases.client, use_cases.authentic)
        scopes = list(Scope)
        issued = await ApiKeyService(store, SystemClock()).issue(
            TenantId(use_cases.tenant), "recording", scopes
        )
        return issued.text.reveal()


@asynccontextmanager
async def using_the_api(installation: FaultInstallation, receivers: Receivers) -> Any:
    """Send a notification, a broadcast and a message to a user without a connection, and read an inbox, again and again."""
    headers = {"Authorization": f"Bearer {await _issue_key(installation)}"}
    await connect_receivers(installation, receivers, headers)
    user = {"Authorization": f"Bearer {installation.processes.token('reader')}"}

    async def use() -> None:
        async with httpx.AsyncClient(base_url=installation.site.api, timeout=5) as client:
            await client.put("/v1/inboxes/news", headers=headers, json={"title": "News"})
            direct = {"type": "direct", "user": SLEEPER}
            chat = (await client.post("/v1/chats", headers=user, json=direct)).json()["id"]
            for number in range(10**6):
                key = headers | {"Idempotency-Key": f"recorded-{number}"}
                users = {"user_ids": ["reader", "other"], "message": {"title": "New"}}
                everyone = {"message": {"title": "New"}}
                message = {"text": "Are you there?", "client_message_id": f"recorded-{number}"}
                for ask in (
                    client.post(f"/v1/chats/{chat}/messages", headers=user, json=message),
                    client.get(installation.site.sockets[0].replace("ws://", "http://")),
                    client.post("/v1/inboxes/news/notifications", headers=key, json=users),
                    client.post("/v1/inboxes/news/broadcasts", headers=key, json=everyone),
                    client.get("/v1/inboxes/news/notifications", headers=user),
                ):
                    with suppress(httpx.HTTPError):
                        await ask
                with suppress(OSError, WebSocketException):
                    await _open_without_credential(installation.site.sockets[0])
                await asyncio.sleep(1)

    task = asyncio.ensure_future(use())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _open_without_credential(url: str) -> None:
    """Open a socket and send something else than `connect`: the gateway closes it."""
    async with connect(url, open_timeout=5) as socket:
        await socket.send("{}")
        await socket.wait_closed()
