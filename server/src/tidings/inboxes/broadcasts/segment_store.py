"""Segments and user profiles in the table `inbox`: one item each, with a version."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from tidings.inboxes.broadcasts.model import Profile, Segment
from tidings.inboxes.broadcasts.ports import ProfilePage
from tidings.inboxes.model import ConfigPage
from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    ValidationError,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.protected_rows import put_if_version
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.inboxes import OF_BUCKET, OF_TENANT, SEGMENT_SORT, profile_key
from tidings.schema.tables.model import KeyTemplate
from tidings.schema.tables.patterns import inboxes as patterns

_FIRST = KeyTemplate("sg#").render()


class DynamoSegmentStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, name: str) -> Segment | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_SEGMENT, _key(tenant, name))
        return None if item is None else _segment_from_item(item)

    async def listed(self, tenant: TenantId, limit: int, after: str | None = None) -> ConfigPage[Segment]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :s)",
            values={":p": OF_TENANT.render(tenant=tenant), ":s": _FIRST},
            limit=limit,
            start=None if after is None else _key(tenant, after),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_SEGMENTS, query)
        found = tuple(map(_segment_from_item, page.items))
        return ConfigPage(found, found[-1].name if found and page.start is not None else None)

    async def write(self, tenant: TenantId, segment: Segment) -> bool:
        return await put_if_version(
            self._client, patterns.WRITE_SEGMENT, _item(tenant, segment), segment.version
        )


def _key(tenant: TenantId, name: str) -> dict[str, ItemValue]:
    return {"PK": OF_TENANT.render(tenant=tenant), "SK": SEGMENT_SORT.render(segment=name)}


def _item(tenant: TenantId, segment: Segment) -> dict[str, ItemValue]:
    item: dict[str, ItemValue] = _key(tenant, segment.name) | {
        "predicate": None if segment.predicate is None else msgspec.json.encode(segment.predicate),
        "list": segment.is_list or None,
        "active": segment.active,
        "newest": segment.newest,
        "version": segment.version,
        "updated_at": format_ms(segment.updated_ms),
    }
    return {name: value for name, value in item.items() if value is not None}


def _segment_from_item(item: Item) -> Segment:
    predicate = item.get("predicate")
    return Segment(
        name=item["SK"].partition("#")[2],
        predicate=None if predicate is None else msgspec.json.decode(predicate),
        is_list=bool(item.get("list", False)),
        active=int(item["active"]),
        newest=int(item["newest"]),
        version=int(item["version"]),
        updated_ms=parse_ms(item["updated_at"]),
    )


_WRITERS = 16
_PAGE = 500
_HAS_LISTS = "lists = if_not_exists(lists, :no), lists_before = if_not_exists(lists_before, :no)"
_EXISTS = "updated_at = :now, created_at = if_not_exists(created_at, :now)"


class DynamoProfileStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, user: UserId) -> Profile | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_PROFILE, profile_key(tenant, user))
        return None if item is None else _profile_from_item(item)

    async def known(self, tenant: TenantId, users: Sequence[UserId]) -> Collection[UserId]:
        keys = [profile_key(tenant, user) for user in users]
        with translate_read_errors:
            found = await self._client.batch_get(patterns.READ_PROFILES, keys)
        return {UserId(item["SK"].partition("#")[2]) for item in found}

    async def set(
        self,
        tenant: TenantId,
        user: UserId,
        attributes: Mapping[str, Any],
        created_ms: int | None,
        now_ms: int,
    ) -> None:
        await self._update(
            tenant,
            user,
            f"SET attributes = :a, since = if_not_exists(since, :since), {_HAS_LISTS}, {_EXISTS} ADD version :one",
            {
                ":a": msgspec.json.encode(attributes),
                ":since": now_ms if created_ms is None else created_ms,
                ":no": {},
                ":now": format_ms(now_ms),
                ":one": 1,
            },
        )

    async def enlist(
        self, tenant: TenantId, users: Collection[UserId], name: str, version: int, now_ms: int
    ) -> None:
        await gather_limited((self._enlist(tenant, user, name, version, now_ms) for user in users), _WRITERS)

    async def _enlist(self, tenant: TenantId, user: UserId, name: str, version: int, now_ms: int) -> None:
        """Add a user to a list. DynamoDB cannot write into a missing map, so create an empty profile if needed."""
        try:
            await self._list(tenant, user, name, version)
        except ValidationError:
            values = {":no": {}, ":now": format_ms(now_ms), ":one": 1}
            await self._update(tenant, user, f"SET {_HAS_LISTS}, {_EXISTS} ADD version :one", values)
            await self._list(tenant, user, name, version)

    async def _list(self, tenant: TenantId, user: UserId, name: str, version: int) -> None:
        try:
            await self._client.update(
                patterns.WRITE_PROFILE,
                profile_key(tenant, user),
                "SET lists.#l = :v, lists_before.#l = if_not_exists(lists.#l, :none)",
                condition="attribute_not_exists(lists.#l) OR lists.#l < :v",
                names={"#l": name},
                values={":v": version, ":none": 0},
                repeatable=True,
            )
        except ConditionFailedError:
            return  # the user is already in this version
        except ValidationError:
            raise
        except DynamoError as error:
            raise_write_error(error)

    async def bucket(self, tenant: TenantId, bucket: int, below: UserId | None = None) -> ProfilePage:
        query = Query(
            condition="PK = :p",
            values={":p": OF_BUCKET.render(tenant=tenant, bucket=bucket)},
            limit=_PAGE,
            start=None if below is None else profile_key(tenant, below),
        )
        with translate_read_errors:
            page = await self._client.query(patterns.WALK_DIRECTORY, query)
        profiles = [_profile_from_item(item) for item in page.items]
        return ProfilePage(profiles, profiles[-1].user if page.start is not None else None)

    async def _update(self, tenant: TenantId, user: UserId, update: str, values: Attributes) -> None:
        with translate_write_errors:
            await self._client.update(
                patterns.WRITE_PROFILE, profile_key(tenant, user), update, values=values, repeatable=True
            )


def _profile_from_item(item: Item) -> Profile:
    newest, before = item.get("lists", {}), item.get("lists_before", {})
    attributes = item.get("attributes")
    return Profile(
        user=UserId(item["SK"].partition("#")[2]),
        attributes={} if attributes is None else msgspec.json.decode(attributes),
        lists={name: (int(version), int(before.get(name, 0))) for name, version in newest.items()},
        created_ms=int(item.get("since", 0)),
        version=int(item["version"]),
    )
