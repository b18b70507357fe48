"""Registrations of devices in the table `devices`. Targets are encrypted; tokens are looked up by a keyed hash."""

import base64
from collections.abc import Sequence

import msgspec

from tidings.accounts.model import SessionId
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    DynamoError,
    TransactionCancelledError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Delete, Put, Query, TransactAction
from tidings.push.model import PushRegistration, PushTarget, kind_of, token_identity
from tidings.push.ports import TokenOwner
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.items.push import MAX_DEVICES, REGISTRATION_SORT, TOKEN, TOKEN_SORT
from tidings.schema.tables.patterns import push as patterns
from tidings.tenants.model import SecretKeyProvider, SecretKeys

_TABLE = "devices"
_HASH_BYTES = 16
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PushTarget).decode


class DynamoRegistrationStore:
    def __init__(self, client: DynamoClient, keys: SecretKeyProvider) -> None:
        self._client = client
        self._keys = keys

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[PushRegistration]:
        items = await self._items(tenant, user)
        keys = await self._keys.to_read(tenant, [item["target"] for item in items])
        found = [_registration_from_item(tenant, user, item, keys) for item in items]
        return [each for each in found if each is not None]

    async def put(self, registration: PushRegistration, /) -> TokenOwner | None:
        tenant, user, device = registration.tenant, registration.user, registration.device
        keys = await self._keys.of(tenant)
        token = _token_hash(keys, registration.target)
        stored = await self._items(tenant, user)
        owner = await self._owner(tenant, token)
        former = next((item for item in stored if _device_of(item) == device), None)
        actions: list[TransactAction] = [
            _put_registration(registration, token, keys, former),
            _put_owner(tenant, token, TokenOwner(user, device), owner),
        ]
        if former is not None and former["token_hash"] != token:
            actions.append(Delete(table=_TABLE, key=_token_key(tenant, former["token_hash"])))
        is_taken = owner is not None and owner != (user, device)
        if owner is not None and is_taken:
            actions.append(_delete_registration(tenant, owner, token))
        if former is None and len(stored) >= MAX_DEVICES and (owner is None or owner.user != user):
            actions += _removal(tenant, user, min(stored, key=lambda item: int(item["registered_ms"])))
        await self._write(actions)
        return owner if is_taken else None

    async def remove(self, registration: PushRegistration, /) -> bool:
        tenant, owner = registration.tenant, TokenOwner(registration.user, registration.device)
        token = _token_hash(await self._keys.of(tenant), registration.target)
        removed = Delete(
            table=_TABLE,
            key=_key(tenant, *owner),
            condition="token_hash = :token",
            values={":token": token},
        )
        try:
            # Race: another user takes the token over. Their transaction changes the owner, so this one fails and
            # their registration stays.
            await self._client.transact_write(
                patterns.UNREGISTER_DEVICE, [removed, _release(tenant, owner, token)], repeatable=True
            )
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons):
                return False
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)
        return True

    async def delete_user(self, tenant: TenantId, user: UserId, /) -> int:
        registered = await self._items(tenant, user)
        for item in registered:
            # Race: another user takes the token over. Then this transaction fails, and theirs has deleted the registration.
            removal = _removal(tenant, user, item)
            with translate_write_errors:
                await self._client.try_transact_write(patterns.UNREGISTER_DEVICE, removal, repeatable=True)
        query = Query(
            condition="user_id = :user",
            values={":user": user_key(tenant, user)},
            names={"#i": "item"},
            projection="user_id, #i",
        )
        with translate_write_errors:
            async for page in self._client.pages(patterns.LIST_OWN, query):
                if page.items:
                    await self._client.batch_write(patterns.DELETE_OWN, deletes=page.items, repeatable=True)
        return len(registered)

    async def _write(self, actions: Sequence[TransactAction]) -> None:
        try:
            await self._client.transact_write(patterns.REGISTER_DEVICE, actions, repeatable=True)
        except TransactionCancelledError as cancelled:
            if any(reason.is_condition for reason in cancelled.reasons):
                # A repeat whose first attempt was applied ends here too: the caller reads again and succeeds.
                raise TidingsError(
                    Code.WRITE_CONFLICT, "The device was registered at the same time. Try again."
                ) from cancelled
            raise_write_error(cancelled)
        except DynamoError as error:
            raise_write_error(error)

    async def _items(self, tenant: TenantId, user: UserId) -> Sequence[Item]:
        query = Query(
            condition="user_id = :user AND begins_with(#i, :p)",
            values={":user": user_key(tenant, user), ":p": "d#"},
            names={"#i": "item"},
        )
        with translate_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_REGISTRATIONS, query)]
        return [item for page in pages for item in page.items]

    async def _owner(self, tenant: TenantId, token: str) -> TokenOwner | None:
        with translate_read_errors:
            item = await self._client.get(patterns.FIND_TOKEN_OWNER, _token_key(tenant, token))
        return None if item is None else TokenOwner(UserId(item["owner"]), DeviceId(item["device_id"]))


def _token_hash(keys: SecretKeys, target: PushTarget) -> str:
    digest = keys.fingerprint(b"_push#" + token_identity(target))[:_HASH_BYTES]
    return base64.b32encode(digest).decode().rstrip("=")


def _secret_name(user: UserId, device: DeviceId) -> str:
    return f"push registration {len(user)}:{user}{device}"


def _key(tenant: TenantId, user: UserId, device: DeviceId) -> dict[str, ItemValue]:
    return {"user_id": user_key(tenant, user), "item": REGISTRATION_SORT.render(device=device)}


def _token_key(tenant: TenantId, token: str) -> dict[str, ItemValue]:
    return {"user_id": TOKEN.render(tenant=tenant, key=token), "item": TOKEN_SORT.render()}


def _put_registration(
    registration: PushRegistration, token: str, keys: SecretKeys, former: Item | None
) -> Put:
    """Put a registration on condition that the stored one is as it was read."""
    item = _item(registration, token, keys)
    if former is None:
        return Put(table=_TABLE, item=item, condition="attribute_not_exists(user_id)")
    return Put(
        table=_TABLE,
        item=item,
        condition="token_hash = :former",
        values={":former": former["token_hash"]},
    )


def _put_owner(tenant: TenantId, token: str, owner: TokenOwner, former: TokenOwner | None) -> Put:
    """Make a device the owner of a token, on condition that the stored owner is as it was read."""
    item = _token_key(tenant, token) | {"owner": owner.user, "device_id": owner.device}
    if former is None:
        return Put(table=_TABLE, item=item, condition="attribute_not_exists(user_id)")
    return Put(table=_TABLE, item=item, condition=_IS_OWNER, names=_OWNER_NAMES, values=_owner_values(former))


_IS_OWNER = "#o = :owner AND device_id = :device"
_OWNER_NAMES = {"#o": "owner"}


def _owner_values(owner: TokenOwner) -> dict[str, ItemValue]:
    return {":owner": owner.user, ":device": owner.device}


def _delete_registration(tenant: TenantId, owner: TokenOwner, token: str) -> Delete:
    """Delete the registration of a token's former owner, on condition that it is absent or still has the token."""
    return Delete(
        table=_TABLE,
        key=_key(tenant, *owner),
        condition="attribute_not_exists(user_id) OR token_hash = :token",
        values={":token": token},
    )


def _release(tenant: TenantId, owner: TokenOwner, token: str) -> Delete:
    return Delete(
        table=_TABLE,
        key=_token_key(tenant, token),
        condition=_IS_OWNER,
        names=_OWNER_NAMES,
        values=_owner_values(owner),
    )


def _removal(tenant: TenantId, user: UserId, item: Item) -> list[TransactAction]:
    owner = TokenOwner(user, _device_of(item))
    token = item["token_hash"]
    return [_delete_registration(tenant, owner, token), _release(tenant, owner, token)]


def _device_of(item: Item) -> DeviceId:
    return DeviceId(item["item"].partition("#")[2])


def _item(registration: PushRegistration, token: str, keys: SecretKeys) -> dict[str, ItemValue]:
    user, device = registration.user, registration.device
    item = _key(registration.tenant, user, device) | {
        "kind": kind_of(registration.target).value,
        "target": keys.seal_secret(_secret_name(user, device), _encode(registration.target)),
        "token_hash": token,
        "session_id": registration.session,
        "locale": registration.locale or None,
        "data_only": registration.is_data_only or None,
        "registered_ms": registration.registered_ms,
    }
    return {name: value for name, value in item.items() if value is not None}


def _registration_from_item(
    tenant: TenantId, user: UserId, item: Item, keys: SecretKeys
) -> PushRegistration | None:
    device = _device_of(item)
    target = keys.open_secret(_secret_name(user, device), item["target"])
    if target is None:
        return None
    session = item.get("session_id")
    return PushRegistration(
        tenant=tenant,
        user=user,
        device=device,
        target=_decode(target),
        session=None if session is None else SessionId(session),
        locale=item.get("locale", ""),
        is_data_only=bool(item.get("data_only", False)),
        registered_ms=int(item["registered_ms"]),
    )
