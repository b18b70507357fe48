"""The progress of erasures in the table `erasures`."""

from collections.abc import AsyncIterator

import msgspec

from tidings.erasure.model import Approval, Erasure, ErasureCursor, ErasureId, ErasureStep
from tidings.erasure.ports import ErasurePage
from tidings.jobs.model import WHOLE_TENANT
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Put, Query
from tidings.schema.tables.items.accounts import TENANT
from tidings.schema.tables.items.erasure import (
    DELETED_TENANT_KEY,
    DELETED_TENANTS,
    ERASURE_KEY,
    ERASURE_OF_USER,
    ERASURE_PROGRESS_SORT,
)
from tidings.schema.tables.patterns import erasure as patterns

_TABLE = "erasures"
_KEPT_S = 400 * 86_400
_encode = msgspec.json.Encoder().encode
_decode_cursor = msgspec.json.Decoder(ErasureCursor).decode
_decode_approval = msgspec.json.Decoder(Approval).decode
_decode_counts = msgspec.json.Decoder(dict[str, int]).decode


class DynamoErasureStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def create(self, erasure: Erasure, replaced: Erasure | None, /) -> Erasure:
        before = None if replaced is None else {":before": replaced.version}
        condition = "attribute_not_exists(tenant)" if before is None else "version = :before"
        actions = [
            Put(table=_TABLE, item=_item(erasure), condition=condition, values=before),
            Put(table=_TABLE, item=_listed(erasure)),
        ]
        with translate_write_errors:
            # Safe to repeat: an attempt that finds its own item returns it, as it would that of another request.
            if await self._client.try_transact_write(patterns.CREATE_ERASURE, actions, repeatable=True):
                return erasure
        found = await self.read(erasure.tenant, erasure.user)
        if found is None:
            raise TidingsError(Code.WRITE_CONFLICT, "The erasure has just expired. Repeat the request.")
        return found

    async def approve(self, erasure: Erasure, /) -> bool:
        before = {":before": erasure.version - 1}
        actions = [
            Put(table=_TABLE, item=_item(erasure), condition="version = :before", values=before),
            Put(table=_TABLE, item=_listed(erasure)),
        ]
        with translate_write_errors:
            return await self._client.try_transact_write(patterns.APPROVE_ERASURE, actions)

    async def listed(self, tenant: TenantId, limit: int, before: str | None, /) -> ErasurePage:
        partition = TENANT.render(tenant=tenant)
        start = None if before is None else {"tenant": partition, "erasure": before}
        query = Query(
            condition="tenant = :tenant",
            values={":tenant": partition},
            limit=limit,
            backward=True,
            start=start,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_REQUESTS, query)
            # Oldest first: of several requests for a user, the newest counts.
            times = {
                UserId(user): int(at_ms)
                for at_ms, _, user in (item["erasure"].partition("#") for item in reversed(page.items))
            }
            keys = [_key(tenant, user) for user in times if user != WHOLE_TENANT]
            items = await self._client.batch_get(patterns.READ_REQUESTS, keys) if keys else []
        # An item of a request that was replaced has another time.
        found = [each for each in map(_erasure_from_item, items) if times[each.user] == each.requested_ms]
        last = page.items[-1]["erasure"] if len(page.items) == limit else None
        return ErasurePage(sorted(found, key=lambda each: (-each.requested_ms, each.user)), last)

    async def read(self, tenant: TenantId, user: UserId, /) -> Erasure | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_ERASURE, _key(tenant, user))
        return None if item is None else _erasure_from_item(item)

    async def save(self, erasure: Erasure, /) -> bool:
        with translate_write_errors:
            # Not repeatable: a repeat could not distinguish its own first attempt from that of another worker.
            return await condition_held(
                self._client.put(
                    patterns.SAVE_ERASURE,
                    _item(erasure),
                    condition="version = :before",
                    values={":before": erasure.version - 1},
                )
            )

    async def deleted_tenants(self) -> AsyncIterator[TenantId]:
        """List the tenants whose deletion was requested, by time."""
        query = Query(condition="tenant = :deleted", values={":deleted": DELETED_TENANTS.render()})
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_DELETED_TENANTS, query):
                for item in page.items:
                    yield TenantId(item["erasure"].partition("#")[2])


def _listed(erasure: Erasure) -> dict[str, ItemValue]:
    """Return the item that lists an erasure for restores. That of a tenant outlives the items of the tenant."""
    at_ms = erasure.requested_ms
    partition = TENANT.render(tenant=erasure.tenant)
    name = ERASURE_KEY.render(at_ms=at_ms, user=erasure.user)
    if erasure.is_of_tenant:
        partition = DELETED_TENANTS.render()
        name = DELETED_TENANT_KEY.render(at_ms=at_ms, tenant=erasure.tenant)
    item: dict[str, ItemValue] = {"tenant": partition, "erasure": name, "ttl": at_ms // 1000 + _KEPT_S}
    return item if erasure.may_run else item | {"waiting": True}


def _key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {
        "tenant": ERASURE_OF_USER.render(tenant=tenant, user=user),
        "erasure": ERASURE_PROGRESS_SORT.render(),
    }


def _item(erasure: Erasure) -> dict[str, ItemValue]:
    item = _key(erasure.tenant, erasure.user) | {
        "id": erasure.id,
        "requested_by": erasure.requested_by,
        "requested_ms": erasure.requested_ms,
        "step": erasure.step.value,
        "step_ms": erasure.step_ms,
        "cursor": _encode(erasure.cursor),
        "counts": _encode(erasure.counts),
        "version": erasure.version,
        "ttl": erasure.requested_ms // 1000 + _KEPT_S,
    }
    if erasure.secret is not None:
        item["secret"] = erasure.secret
    if erasure.approval is not None:
        item["approval"] = _encode(erasure.approval)
    if erasure.certificate is not None:
        item["certificate"] = erasure.certificate
    return item


def _erasure_from_item(item: Item) -> Erasure:
    tenant, _, user = item["tenant"].split("#")
    return Erasure(
        tenant=TenantId(tenant),
        user=UserId(user),
        id=ErasureId(item["id"]),
        requested_ms=int(item["requested_ms"]),
        requested_by=item["requested_by"],
        approval=_decode_approval(item["approval"]) if "approval" in item else None,
        secret=item.get("secret"),
        step=ErasureStep(item["step"]),
        step_ms=int(item["step_ms"]),
        cursor=_decode_cursor(item["cursor"]),
        counts=_decode_counts(item["counts"]),
        certificate=item.get("certificate"),
        version=int(item["version"]),
    )
