"""What inboxes are, in the table `inbox`: one item each, with a version."""

from collections.abc import Sequence

import msgspec

from tidings.kernel.clock import format_ms, parse_ms
from tidings.kernel.ids import TenantId
from tidings.notices.config import Inbox
from tidings.notices.model import InboxId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Item, ItemValue
from tidings.platform.dynamo.versions import put_if_version
from tidings.tables.items.inbox import CONFIG_SORT, OF_TENANT
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST = KeyTemplate("si#").render()


class DynamoInboxStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        try:
            item = await self._client.get(patterns.READ_CONFIG, _inbox_key(tenant, inbox))
        except DynamoError as error:
            raise_read_error(error)
        return None if item is None else _inbox_from_item(item)

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]:
        query = Query(
            condition="PK = :p AND begins_with(SK, :s)",
            values={":p": OF_TENANT.render(tenant=tenant), ":s": _FIRST},
        )
        found: list[Inbox] = []
        try:
            async for page in self._client.pages(patterns.LIST_CONFIGS, query):
                found += [_inbox_from_item(item) for item in page.items]
        except DynamoError as error:
            raise_read_error(error)
        return found

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        return await put_if_version(self._client, patterns.WRITE_CONFIG, _item(tenant, inbox), inbox.version)


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
        "version": inbox.version,
        "created_at": format_ms(inbox.created_ms),
        "updated_at": format_ms(inbox.updated_ms),
    }
    return {name: value for name, value in item.items() if value is not None}


def _inbox_from_item(item: Item) -> Inbox:
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
        version=int(item["version"]),
        created_ms=parse_ms(item["created_at"]),
        updated_ms=parse_ms(item["updated_at"]),
    )
