"""The audit log in the table `audit`. It puts new items and queries; nothing updates or deletes."""

from typing import Any

import msgspec

from tidings.audit.model import SYSTEM, AuditPage, AuditPhase, AuditRecord, AuditSource
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, ulid_ms
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    NotFoundError,
    condition_held,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.accounts import AUDIT_KEY, AUDIT_MONTH, SYSTEM_AUDIT_MONTH
from tidings.schema.tables.model import KeyPartError
from tidings.schema.tables.patterns import operators as patterns

_TEXTS = ("actor", "credential", "operation", "target", "outcome", "reason", "address", "request_id")
_VALUES = ("before", "after")


class DynamoAuditStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def append(self, record: AuditRecord, /) -> None:
        item = _key(record) | {
            "action": record.action_id,
            "phase": record.phase.value,
            "source": record.source.value,
        }
        item |= {name: value for name in _TEXTS if (value := getattr(record, name))}
        item |= {
            name: msgspec.json.encode(value)
            for name in _VALUES
            if (value := getattr(record, name)) is not None
        }
        try:
            await self._put(item)
        except NotFoundError as error:
            raise TidingsError(
                Code.TABLES_DRIFT, "The table `audit` does not exist.", hint="Run `tidings tables apply`."
            ) from error

    async def _put(self, item: Item) -> None:
        with translate_write_errors:
            # A failed condition means that an earlier attempt of this call was applied: the ULID is unique.
            await condition_held(
                self._client.put(
                    patterns.APPEND_AUDIT,
                    item,
                    condition="attribute_not_exists(tenant_month)",
                    repeatable=True,
                )
            )

    async def page(
        self, tenant: TenantId | None, month: str, limit: int, /, *, after: str | None, newest_first: bool
    ) -> AuditPage:
        condition, values = "tenant_month = :month", {":month": _partition(tenant, month)}
        if after is not None:
            condition += " AND #record < :after" if newest_first else " AND #record > :after"
            values[":after"] = after
        query = Query(
            condition=condition,
            values=values,
            names=None if after is None else {"#record": "record"},
            limit=limit,
            backward=newest_first,
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_AUDIT, query)
        records = [_record_from_item(item) for item in page.items]
        return AuditPage(records, records[-1].id if page.start is not None and records else None)


def _partition(tenant: TenantId | None, month: str) -> str:
    if tenant is None or tenant == SYSTEM:
        return SYSTEM_AUDIT_MONTH.render(month=month)
    try:
        return AUDIT_MONTH.render(tenant=tenant, month=month)
    except KeyPartError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Not a tenant: {error}") from error


def _key(record: AuditRecord) -> dict[str, ItemValue]:
    partition = _partition(TenantId(record.tenant), record.at[:7])
    return {"tenant_month": partition, "record": AUDIT_KEY.render(key=record.id)}


def _record_from_item(item: Item) -> AuditRecord:
    values: dict[str, Any] = {name: msgspec.json.decode(item[name]) for name in _VALUES if name in item}
    return AuditRecord(
        id=item["record"],
        action_id=item["action"],
        phase=AuditPhase(item["phase"]),
        at=format_ms(ulid_ms(item["record"])),
        tenant=item["tenant_month"].partition("#")[0],
        source=AuditSource(item["source"]),
        **{name: item[name] for name in _TEXTS if name in item},
        **values,
    )
