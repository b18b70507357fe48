"""Send a message in a scratch installation, read it as its recipient, and read an old message."""

import asyncio
import secrets
import time
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from tidings.accounts.jwt import sign_jws, user_claims
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.app.settings import Settings
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.dev.seed_data import HttpResult, http_call
from tidings.drills.copies import StoredMessage
from tidings.drills.scratch import ScratchInstallation
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.model import TenantSettings
from tidings.tenants.store import DynamoTenantStore

_SENDER, _RECIPIENT = "drill-sender", "drill-recipient"
_TOKEN_LIFE_S: Final = 600
_DELIVERED_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.1


class Exchange(NamedTuple):
    """When the send was acknowledged and the message delivered, as monotonic times."""

    acknowledged_s: float
    delivered_s: float
    has_read_old_message: bool


async def exchange_messages(scratch: ScratchInstallation, old: Sequence[StoredMessage]) -> Exchange:
    """Start the processes, and send between two users of a new tenant. The tenant exists in the scratch tables only."""
    settings, tenant = scratch.load().settings, f"drill-{secrets.token_hex(4)}"
    keys = await _create_keys(settings, TenantId(tenant), {TenantId(each.tenant) for each in old})
    async with scratch.processes():
        sender, recipient = (_token(keys[tenant], tenant, user) for user in (_SENDER, _RECIPIENT))
        chat = await _call(scratch, "POST", "/v1/chats", sender, {"type": "direct", "user": _RECIPIENT})
        path, text = f"/v1/chats/{chat['id']}/messages", f"drill {secrets.token_hex(8)}"
        await _call(scratch, "POST", path, sender, {"text": text}, key="drill")
        acknowledged_s = time.monotonic()
        await _until_unread(scratch, recipient)
        delivered_s = time.monotonic()
        page = await _call(scratch, "GET", path, recipient)
        if text not in [entry.get("text") for entry in page["entries"]]:
            raise TidingsError(
                Code.INTERNAL, "The recipient's history lacks the message that was acknowledged."
            )
        has_read = await _read_any(scratch, old, keys)
    return Exchange(acknowledged_s, delivered_s, has_read)


async def _create_keys(
    settings: Settings, tenant: TenantId, others: Iterable[TenantId]
) -> dict[str, dict[str, Any]]:
    """Create a tenant, and a signing key for it and for others. The processes accept the keys when they start."""
    clock = SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        rows = AuthenticatedRows(ring)
        await DynamoTenantStore(client, rows).create(tenant, TenantSettings(name="Drill"), clock.now_ms())
        signing = SigningKeyService(DynamoSigningKeyStore(client, rows), clock)
        return {each: (await signing.make(each, "Ed25519")).private for each in (tenant, *others)}


def _token(key: dict[str, Any], tenant: str, user: str) -> str:
    now_s = int(time.time())
    return sign_jws(user_claims(tenant, user, now_s=now_s, life_s=_TOKEN_LIFE_S), key)


async def _until_unread(scratch: ScratchInstallation, recipient: str) -> None:
    """Wait until the chat list of the recipient has the message: the delivery worker has read it from Kafka."""
    try:
        async with asyncio.timeout(_DELIVERED_WITHIN_S):
            while True:
                listed = await _call(scratch, "GET", "/v1/chats", recipient)
                if any(chat["unread"] for chat in listed["chats"]):
                    return
                await asyncio.sleep(_POLL_S)
    except TimeoutError as error:
        raise TidingsError(
            Code.INTERNAL, f"The message was acknowledged and not delivered in {_DELIVERED_WITHIN_S:g} s."
        ) from error


async def _read_any(
    scratch: ScratchInstallation, old: Sequence[StoredMessage], keys: dict[str, dict[str, Any]]
) -> bool:
    """Read one of the messages as its author, which decrypts it. Authors who left their chat or were erased may not."""
    for each in old:
        path = f"/v1/chats/{each.chat}/messages?after={each.sequence - 1}&limit=1"
        answer = await http_call(
            "GET", scratch.api + path, _token(keys[each.tenant], each.tenant, each.author)
        )
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _failed("GET", path, answer)
        if answer.status == HTTPStatus.OK and any(
            entry["sequence"] == each.sequence and entry.get("state") == "active"
            for entry in answer.body["entries"]
        ):
            return True
    return False


async def _call(
    scratch: ScratchInstallation,
    method: str,
    path: str,
    token: str,
    body: object = None,
    *,
    key: str | None = None,
) -> Any:  # noqa: ANN401 - any JSON value
    answer = await http_call(method, scratch.api + path, token, body, key=key)
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise _failed(method, path, answer)
    return answer.body


def _failed(method: str, path: str, answer: HttpResult) -> TidingsError:
    said = answer.body.get("detail") if isinstance(answer.body, dict) else ""
    return TidingsError(Code.INTERNAL, f"In the drill, {method} {path} gave {answer.status}. {said}")
