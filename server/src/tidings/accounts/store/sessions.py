"""Sessions in the table `sessions`."""

from collections.abc import Sequence

from tidings.accounts.model import SessionId
from tidings.accounts.records import Device, Session
from tidings.accounts.revocations import Revocation
from tidings.accounts.store.revocations import put_of
from tidings.kernel.clock import time_ms, time_text
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError, TransactionCancelledError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.transactions import Delete
from tidings.platform.dynamo.values import Item, Value
from tidings.tables.items.accounts import SESSION_KEY
from tidings.tables.items.chat import user_key
from tidings.tables.patterns import accounts as patterns

_OPTIONAL = {"previous_token_hash": "previous_hash", "rotation_key_hash": "rotation_key_hash"}


class DynamoSessions:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, session: Session, /) -> None:
        item = item_of(session)
        try:
            await self._client.put(
                patterns.CREATE_SESSION, item, condition="attribute_not_exists(session_id)", repeatable=True
            )
        except ConditionFailedError as failed:
            if failed.item != item:
                unwritten(failed)
        except DynamoError as error:
            unwritten(error)

    async def peek(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        return await self._get(patterns.VALIDATE_SESSION, tenant, session)

    async def read(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        return await self._get(patterns.READ_SESSION, tenant, session)

    async def rotate(self, after: Session, /) -> Session | None:
        update, values = _rotation(after)
        try:
            # safe to repeat: a try that finds its own rotation is shown it
            await self._client.update(
                patterns.ROTATE_SESSION,
                key(after.tenant, after.session),
                update,
                condition="refresh_token_hash = :presented",
                values=values,
                names={"#ttl": "ttl"},
                repeatable=True,
            )
        except ConditionFailedError as failed:
            return None if failed.item is None else session_of(failed.item)
        except DynamoError as error:
            unwritten(error)
        return after

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[Session]:
        query = Query(condition="user_id = :user", values={":user": user_key(tenant, user)})
        try:
            pages = [page async for page in self._client.pages(patterns.LIST_SESSIONS, query)]
        except DynamoError as error:
            unread(error)
        return [session_of(item) for page in pages for item in page.items]

    async def delete(self, tenant: TenantId, session: SessionId, user: UserId, now_ms: int, /) -> bool:
        gone = Delete(
            table="sessions",
            key=key(tenant, session),
            condition="user_id = :user",
            values={":user": user_key(tenant, user)},
        )
        told = put_of(Revocation(tenant=tenant, user=user, session=session, from_ms=now_ms), now_ms)
        try:
            await self._client.transact_write(patterns.REVOKE_SESSION, [gone, told], repeatable=True)
        except TransactionCancelledError as cancelled:
            row = cancelled.reasons[0]
            if row.is_condition:
                return cancelled.maybe_applied and row.item is None
            unwritten(cancelled)
        except DynamoError as error:
            unwritten(error)
        return True

    async def delete_many(self, tenant: TenantId, sessions: Sequence[SessionId], /) -> None:
        keys = [key(tenant, session) for session in sessions]
        try:
            await self._client.batch_write(patterns.REVOKE_SESSIONS, deletes=keys, repeatable=True)
        except DynamoError as error:
            unwritten(error)

    async def _get(self, pattern: AccessPattern, tenant: TenantId, session: SessionId) -> Session | None:
        try:
            item = await self._client.get(pattern, key(tenant, session))
        except DynamoError as error:
            unread(error)
        return None if item is None else session_of(item)


def _rotation(after: Session) -> tuple[str, dict[str, Value]]:
    values: dict[str, Value] = {
        ":presented": after.previous_hash,
        ":next": after.token_hash,
        ":now": time_text(after.refreshed_at_ms),
        ":until": time_text(after.expires_at_ms),
        ":ttl": after.expires_at_ms // 1000,
    }
    update = (
        "SET refresh_token_hash = :next, previous_token_hash = :presented, refreshed_at = :now, "
        "expires_at = :until, #ttl = :ttl"
    )
    if after.rotation_key_hash is None:
        return f"{update} REMOVE rotation_key_hash", values
    return f"{update}, rotation_key_hash = :key", values | {":key": after.rotation_key_hash}


def key(tenant: TenantId, session: SessionId) -> dict[str, Value]:
    return {"session_id": SESSION_KEY.render(tenant=tenant, session=session)}


def item_of(row: Session) -> dict[str, Value]:
    item = key(row.tenant, row.session) | {
        "user_id": user_key(row.tenant, row.user),
        "device_id": row.device.id,
        "device_name": row.device.name,
        "refresh_token_hash": row.token_hash,
        "epoch": row.epoch,
        "created_at": time_text(row.created_at_ms),
        "refreshed_at": time_text(row.refreshed_at_ms),
        "expires_at": time_text(row.expires_at_ms),
        "ttl": row.expires_at_ms // 1000,
    }
    optional = {name: getattr(row, field) for name, field in _OPTIONAL.items()}
    return item | {name: value for name, value in optional.items() if value is not None}


def session_of(item: Item) -> Session:
    tenant, _, session = item["session_id"].partition("#")
    return Session(
        tenant=TenantId(tenant),
        session=SessionId(session),
        user=UserId(item["user_id"].partition("#")[2]),
        device=Device(id=DeviceId(item["device_id"]), name=item["device_name"]),
        token_hash=item["refresh_token_hash"],
        epoch=int(item["epoch"]),
        created_at_ms=time_ms(item["created_at"]),
        refreshed_at_ms=time_ms(item["refreshed_at"]),
        expires_at_ms=time_ms(item["expires_at"]),
        **{field: item.get(name) for name, field in _OPTIONAL.items()},
    )
