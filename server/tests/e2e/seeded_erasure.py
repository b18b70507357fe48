"""A user who is erased, and one whose erasure waits for a second approver."""

from collections.abc import Callable
from typing import Any

from tidings.erasure.model import SECRET_BYTES, Approval, Erasure, ErasureId
from tidings.erasure.store import DynamoErasureStore
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId, new_ulid
from tidings.platform.dynamo.client import DynamoClient

ASKED = UserId("asked")


async def request_erasure(client: DynamoClient, tenant: TenantId, clock: Clock) -> None:
    """Store the request of an operator. An API key is another identity, so it can decide it."""
    now_ms = clock.now_ms()
    request = Erasure(
        tenant=tenant,
        user=ASKED,
        id=ErasureId(new_ulid()),
        requested_ms=now_ms,
        requested_by="operator:owner",
        approval=Approval(),
        secret=bytes(SECRET_BYTES),
        step_ms=now_ms,
    )
    await DynamoErasureStore(client).create(request, None)


def erasure_values(ok: Callable[..., Any], server: str, bodies: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Erase a user, and return values that succeed. `ok` sends a request, with the API key `server`."""
    ok("POST", "/v1/users", {"id": "leaving"}, bearer=server)
    ok("DELETE", "/v1/users/leaving", bearer=server)
    bodies["decide_erasure"] = {"action": "reject"}
    erased = {"user": ["leaving"]}
    return {"erase_user": erased, "get_erasure": erased, "decide_erasure": {"user": [ASKED]}}
