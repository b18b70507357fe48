"""Sessions, revocations and one-time codes in DynamoDB."""

from collections.abc import Sequence

from tidings.accounts.model import ChallengeId, Device, Revocation, Session, SessionId
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import DeviceId, TenantId, UserId, new_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    TransactionCancelledError,
    condition_held,
    raise_write_error,
    translate_key_read_errors,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.protected_rows import MAC, AuthenticatedRows, RowKeys
from tidings.platform.dynamo.requests import Delete, Put, Query
from tidings.schema.tables.items.accounts import CODE_KEY, CODE_SORT, REVOCATION_KEY, REVOCATIONS, SESSION_KEY
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.patterns import accounts as patterns

_TTL_S = 3_600


def revocation_put(revocation: Revocation, now_ms: int) -> Put:
    """Return the put for the transaction that ends the credential."""
    item: dict[str, ItemValue] = {
        "tenant": REVOCATIONS.render(),
        "item": REVOCATION_KEY.render(at_ms=now_ms, key=new_ulid()),
        "owner": revocation.tenant,
        "from_ms": revocation.from_ms,
        "ttl": now_ms // 1000 + _TTL_S,
    }
    optional = {"user_id": revocation.user, "session_id": revocation.session, "kid": revocation.kid}
    item |= {name: value for name, value in optional.items() if value is not None}
    return Put(table="tenants", item=item)


class DynamoRevocationLog:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def since(self, at_ms: int, /) -> Sequence[tuple[str, Revocation]]:
        query = Query(
            condition="tenant = :t AND #i >= :at",
            values={":t": REVOCATIONS.render(), ":at": f"{at_ms:013d}"},
            names={"#i": "item"},
        )
        with translate_key_read_errors:
            pages = [page async for page in self._client.pages(patterns.READ_REVOCATIONS, query)]
        return [(item["item"], _revocation_from_item(item)) for page in pages for item in page.items]


def _revocation_from_item(item: Item) -> Revocation:
    user, session = item.get("user_id"), item.get("session_id")
    return Revocation(
        tenant=TenantId(item["owner"]),
        user=None if user is None else UserId(user),
        session=None if session is None else SessionId(session),
        kid=item.get("kid"),
        from_ms=int(item["from_ms"]),
    )


class DynamoCodeStore:
    """Store of one-time codes. The MAC does not cover the number of attempts: an older row would verify anyway."""

    def __init__(self, client: DynamoClient, keys: RowKeys) -> None:
        self._client = client
        self._rows = AuthenticatedRows(keys, unprotected=frozenset({"tries"}))

    async def put(
        self, tenant: TenantId, challenge: ChallengeId, code_hash: bytes, expires_at_s: int, /
    ) -> None:
        item = await self._rows.sign(
            tenant, code_key(tenant, challenge) | {"code_hash": code_hash, "tries": 0, "ttl": expires_at_s}
        )
        with translate_write_errors:
            # Safe to repeat: no client has the challenge yet, so no counted attempt is overwritten.
            await self._client.put(patterns.PUT_CODE, item, repeatable=True)

    async def count_try(
        self, tenant: TenantId, challenge: ChallengeId, max_tries: int, now_s: int, /
    ) -> bytes | None:
        try:
            # A repeat after a lost answer counts twice: the client has one attempt less, never one more.
            written = await self._client.update(
                patterns.TRY_CODE,
                code_key(tenant, challenge),
                "ADD tries :one",
                # DynamoDB deletes expired items up to two days late.
                condition="tries < :max AND #ttl > :now",
                names={"#ttl": "ttl"},
                values={":one": 1, ":max": max_tries, ":now": now_s},
                returns="ALL_NEW",
                repeatable=True,
            )
        except ConditionFailedError:
            return None
        except DynamoError as error:
            raise_write_error(error)
        item = await self._rows.verified(tenant, written.attributes)
        return None if item is None else bytes(item["code_hash"])

    async def redeem(self, tenant: TenantId, challenge: ChallengeId, /) -> bool:
        with translate_write_errors:
            # Not repeated: a repeat could not distinguish its own first delete from a concurrent redeem.
            return await condition_held(
                self._client.delete(
                    patterns.REDEEM_CODE, code_key(tenant, challenge), condition="attribute_exists(tenant)"
                )
            )


def code_key(tenant: TenantId, challenge: ChallengeId) -> dict[str, ItemValue]:
    return {"tenant": CODE_KEY.render(tenant=tenant, key=challenge), "item": CODE_SORT.render()}


_OPTIONAL = {"previous_token_hash": "previous_hash", "rotation_key_hash": "rotation_key_hash"}


class DynamoSessionStore:
    def __init__(self, client: DynamoClient, rows: AuthenticatedRows) -> None:
        self._client = client
        self._rows = rows

    async def create(self, session: Session, /) -> None:
        item = await self._rows.sign(session.tenant, session_item(session))
        try:
            await self._client.put(
                patterns.CREATE_SESSION, item, condition="attribute_not_exists(session_id)", repeatable=True
            )
        except ConditionFailedError as failed:
            if failed.item != item:
                raise_write_error(failed)
        except DynamoError as error:
            raise_write_error(error)

    async def peek(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        return await self._get(patterns.VALIDATE_SESSION, tenant, session)

    async def read(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        return await self._get(patterns.READ_SESSION, tenant, session)

    async def rotate(self, after: Session, /) -> Session | None:
        mac = (await self._rows.sign(after.tenant, session_item(after)))[MAC]
        update, values = _rotation(after, mac)
        try:
            # Safe to repeat: a repeat that finds its own rotation returns it.
            await self._client.update(
                patterns.ROTATE_SESSION,
                session_key(after.tenant, after.session),
                update,
                condition="refresh_token_hash = :presented",
                values=values,
                names={"#ttl": "ttl"},
                repeatable=True,
            )
        except ConditionFailedError as failed:
            item = await self._rows.verified(after.tenant, failed.item)
            return None if item is None else session_from_item(item)
        except DynamoError as error:
            raise_write_error(error)
        return after

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[Session]:
        query = Query(condition="user_id = :user", values={":user": user_key(tenant, user)})
        with translate_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_SESSIONS, query)]
        items = [await self._rows.verified(tenant, item) for page in pages for item in page.items]
        return [session_from_item(item) for item in items if item is not None]

    async def delete(self, tenant: TenantId, session: SessionId, user: UserId, now_ms: int, /) -> bool:
        deleted = Delete(
            table="sessions",
            key=session_key(tenant, session),
            condition="user_id = :user",
            values={":user": user_key(tenant, user)},
        )
        revocation = revocation_put(
            Revocation(tenant=tenant, user=user, session=session, from_ms=now_ms), now_ms
        )
        try:
            await self._client.transact_write(patterns.REVOKE_SESSION, [deleted, revocation], repeatable=True)
        except TransactionCancelledError as cancelled:
            row = cancelled.reasons[0]
            if row.is_condition:
                return cancelled.maybe_applied and row.item is None
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True

    async def delete_many(self, tenant: TenantId, sessions: Sequence[SessionId], /) -> None:
        keys = [session_key(tenant, session) for session in sessions]
        with translate_write_errors:
            await self._client.batch_write(patterns.REVOKE_SESSIONS, deletes=keys, repeatable=True)

    async def _get(self, pattern: AccessPattern, tenant: TenantId, session: SessionId) -> Session | None:
        with translate_read_errors:
            item = await self._client.get(pattern, session_key(tenant, session))
        item = await self._rows.verified(tenant, item)
        return None if item is None else session_from_item(item)


def _rotation(after: Session, mac: ItemValue) -> tuple[str, dict[str, ItemValue]]:
    values: dict[str, ItemValue] = {
        ":presented": after.previous_hash,
        ":next": after.token_hash,
        ":now": format_ms(after.refreshed_at_ms),
        ":until": format_ms(after.expires_at_ms),
        ":ttl": after.expires_at_ms // 1000,
        ":mac": mac,
    }
    update = (
        "SET refresh_token_hash = :next, previous_token_hash = :presented, refreshed_at = :now, "
        "expires_at = :until, #ttl = :ttl, mac = :mac"
    )
    if after.rotation_key_hash is None:
        return f"{update} REMOVE rotation_key_hash", values
    return f"{update}, rotation_key_hash = :key", values | {":key": after.rotation_key_hash}


def session_key(tenant: TenantId, session: SessionId) -> dict[str, ItemValue]:
    return {"session_id": SESSION_KEY.render(tenant=tenant, session=session)}


def session_item(row: Session) -> dict[str, ItemValue]:
    item = session_key(row.tenant, row.session) | {
        "user_id": user_key(row.tenant, row.user),
        "device_id": row.device.id,
        "device_name": row.device.name,
        "refresh_token_hash": row.token_hash,
        "epoch": row.epoch,
        "created_at": format_ms(row.created_at_ms),
        "refreshed_at": format_ms(row.refreshed_at_ms),
        "expires_at": format_ms(row.expires_at_ms),
        "ttl": row.expires_at_ms // 1000,
    }
    optional = {name: getattr(row, field) for name, field in _OPTIONAL.items()}
    return item | {name: value for name, value in optional.items() if value is not None}


def session_from_item(item: Item) -> Session:
    tenant, _, session = item["session_id"].partition("#")
    return Session(
        tenant=TenantId(tenant),
        session=SessionId(session),
        user=UserId(item["user_id"].partition("#")[2]),
        device=Device(id=DeviceId(item["device_id"]), name=item["device_name"]),
        token_hash=item["refresh_token_hash"],
        epoch=int(item["epoch"]),
        created_at_ms=parse_ms(item["created_at"]),
        refreshed_at_ms=parse_ms(item["refreshed_at"]),
        expires_at_ms=parse_ms(item["expires_at"]),
        **{field: item.get(name) for name, field in _OPTIONAL.items()},
    )
