"""Inbox configurations and a tenant's defaults in the table `inbox`: one item each, with a version."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from tidings.inboxes.config import Inbox, InboxDefaults
from tidings.inboxes.model import ConfigPage, InboxId
from tidings.inboxes.preferences import CategorySettings, Channel
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.errors import wrap_decoder
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import translate_read_errors
from tidings.platform.dynamo.protected_rows import put_if_version
from tidings.platform.dynamo.requests import Query
from tidings.platform.redis import pubsub
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.errors import RedisError
from tidings.schema.tables.items.inboxes import CONFIG_SORT, OF_TENANT, SETTINGS_SORT
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import inboxes as patterns

_FIRST = KeyTemplate("si#").render()


class DynamoInboxStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_CONFIG, _inbox_key(tenant, inbox))
        return None if item is None else _inbox_from_item(item)

    async def listed(self, tenant: TenantId, limit: int, after: InboxId | None = None) -> ConfigPage[Inbox]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :s)",
            values={":p": OF_TENANT.render(tenant=tenant), ":s": _FIRST},
            limit=limit,
            start=None if after is None else _inbox_key(tenant, after),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_CONFIGS, query)
        found = tuple(map(_inbox_from_item, page.items))
        return ConfigPage(found, found[-1].id if found and page.start is not None else None)

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        return await put_if_version(self._client, patterns.WRITE_CONFIG, _item(tenant, inbox), inbox.version)

    async def read_defaults(self, tenant: TenantId) -> InboxDefaults | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_SETTINGS, _defaults_key(tenant))
        return None if item is None else _defaults_from_item(item)

    async def write_defaults(self, tenant: TenantId, defaults: InboxDefaults) -> bool:
        return await put_if_version(
            self._client,
            patterns.WRITE_SETTINGS,
            _defaults_key(tenant) | _attributes(defaults),
            defaults.version,
        )


def _inbox_key(tenant: TenantId, inbox: InboxId) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": CONFIG_SORT.render(inbox=inbox)}


def _item(tenant: TenantId, inbox: Inbox) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = _inbox_key(tenant, inbox.id) | {
        "title": inbox.title,
        "description": inbox.description,
        "categories": dict(inbox.codes),
        "retired": [*sorted(inbox.retired)],
        "schema": None if inbox.schema is None else msgspec.json.encode(inbox.schema),
        "schema_version": inbox.schema_version,
        "retention_days": inbox.retention_days,
        "expires_after_s": inbox.expires_after_s,
        "default_category": inbox.default_category,
        "known_users": inbox.is_for_known_users or None,
        "preferences": _encode_preferences(inbox),
        "version": inbox.version,
        "created_at": format_ms(inbox.created_ms),
        "updated_at": format_ms(inbox.updated_ms),
    }
    return {name: value for name, value in item.items() if value is not None}


class _Preferences(Struct, frozen=True, kw_only=True, omit_defaults=True):
    channels: Mapping[Channel, bool] = {}
    categories: Mapping[str, CategorySettings] = {}


_decode_preferences: Final = msgspec.json.Decoder(_Preferences).decode


def _encode_preferences(inbox: Inbox) -> bytes | None:
    if not inbox.channels and not inbox.category_settings:
        return None
    return msgspec.json.encode(_Preferences(channels=inbox.channels, categories=inbox.category_settings))


def _inbox_from_item(item: Item) -> Inbox:
    preferences = _decode_preferences(item.get("preferences", b"{}"))
    codes = {name: int(code) for name, code in item["categories"].items()}
    retention, expires, schema = (item.get(name) for name in ("retention_days", "expires_after_s", "schema"))
    return Inbox(
        id=InboxId(item["SK"].partition("#")[2]),
        title=item["title"],
        description=item["description"],
        codes=dict(sorted(codes.items(), key=lambda pair: pair[1])),
        retired=frozenset(int(code) for code in item["retired"]),
        schema=None if schema is None else msgspec.json.decode(schema),
        schema_version=int(item["schema_version"]),
        retention_days=None if retention is None else int(retention),
        expires_after_s=None if expires is None else int(expires),
        default_category=item.get("default_category"),
        is_for_known_users=item.get("known_users", False),
        channels=preferences.channels,
        category_settings=preferences.categories,
        version=int(item["version"]),
        created_ms=parse_ms(item["created_at"]),
        updated_ms=parse_ms(item["updated_at"]),
    )


class _Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The item's `settings`. A change by this version drops fields of later versions."""

    retention_days: int | None = None
    known_users: bool = False
    channels: Mapping[Channel, bool] = {}


_decode_defaults: Final = msgspec.json.Decoder(_Settings).decode


def _defaults_key(tenant: TenantId) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": SETTINGS_SORT.render()}


def _attributes(defaults: InboxDefaults) -> dict[str, ItemValue]:
    settings = _Settings(
        retention_days=defaults.retention_days,
        known_users=defaults.is_for_known_users,
        channels=defaults.channels,
    )
    return {
        "settings": msgspec.json.encode(settings),
        "version": defaults.version,
        "created_at": format_ms(defaults.created_ms),
        "updated_at": format_ms(defaults.updated_ms),
    }


def _defaults_from_item(item: Item) -> InboxDefaults:
    settings = _decode_defaults(item["settings"])
    return InboxDefaults(
        retention_days=settings.retention_days,
        is_for_known_users=settings.known_users,
        channels=settings.channels,
        version=int(item["version"]),
        created_ms=parse_ms(item["created_at"]),
        updated_ms=parse_ms(item["updated_at"]),
    )


_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode
_decode_invalidation = wrap_decoder(
    msgspec.json.Decoder(tuple[TenantId, InboxId]).decode, msgspec.DecodeError
)


class RedisConfigInvalidation:
    """Announces changes of inboxes to other processes, on one channel for all tenants. Changes are rare."""

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis
        self._channel = redis.keys.key("_system", "inboxes", "changed")

    async def publish(self, tenant: TenantId, inbox: InboxId, /) -> None:
        """Publish that an inbox has changed. Never raises: the change is already committed."""
        try:
            await self._redis.publish(self._channel, _encode((tenant, inbox)))
        except RedisError as error:
            _log.warning("inbox change not published, caches expire in a few seconds: %s", error)

    def subscribe(self, on_change: Callable[[TenantId, InboxId], None]) -> None:
        """Call `on_change` for every published change, as long as the client exists."""

        def receive(event: pubsub.ChannelEvent) -> None:
            if isinstance(event, pubsub.ChannelMessage):
                try:
                    tenant, inbox = _decode_invalidation(event.payload)
                except msgspec.DecodeError:
                    return
                on_change(tenant, inbox)

        self._redis.subscribe_soon(self._channel, receive)
