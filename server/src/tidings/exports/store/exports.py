"""The last export of each user, in the table `inbox` next to its job."""

import msgspec

from tidings.exports.model import Export, ExportCounts, ExportId, ExportState
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    condition_held,
    raise_write_error,
    translate_read_errors,
    translate_write_errors,
)
from tidings.schema.tables.items.jobs import EXPORT_OF_USER, EXPORT_SORT
from tidings.schema.tables.patterns import exports as patterns

_KEPT_S = 30 * 86_400
_OWN_TURN = "export_id = :id AND turn = :turn AND export_state = :running"
_encode = msgspec.json.Encoder().encode
_decode_counts = msgspec.json.Decoder(ExportCounts).decode


class DynamoExportStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def create(self, export: Export, replaced: Export | None, /) -> Export:
        is_first = replaced is None
        condition = "attribute_not_exists(PK)" if is_first else "export_id = :old OR export_id = :new"
        try:
            # Safe to repeat: a put that finds its own item returns it, as it would that of another request.
            await self._client.put(
                patterns.CREATE_EXPORT,
                _item(export),
                condition=condition,
                values=None if replaced is None else {":old": replaced.id, ":new": export.id},
                repeatable=True,
            )
        except ConditionFailedError as failed:
            if failed.item is None:
                raise_write_error(failed)
            return _export_from_item(export.tenant, export.user, failed.item)
        except DynamoError as error:
            raise_write_error(error)
        return export

    async def read(self, tenant: TenantId, user: UserId, /) -> Export | None:
        with translate_read_errors:
            item = await self._client.get(patterns.READ_EXPORT, _key(tenant, user))
        return None if item is None else _export_from_item(tenant, user, item)

    async def take(self, export: Export, /) -> Export | None:
        taken = msgspec.structs.replace(export, turn=export.turn + 1)
        # Race: the worker of the last turn stores a cursor after this one has read the export. A turn that started before
        # that cursor would store parts of an earlier step again, and a later turn would take them for the valid ones.
        values = _turn_values(export) | {":next": taken.turn}
        same_cursor = "attribute_not_exists(#cursor)"
        if export.cursor is not None:
            same_cursor, values[":cursor"] = "#cursor = :cursor", export.cursor
        with translate_write_errors:
            # Not repeatable: a repeat could not distinguish its own first attempt from that of another worker.
            is_taken = await condition_held(
                self._client.update(
                    patterns.TAKE_EXPORT,
                    _key(export.tenant, export.user),
                    "SET turn = :next",
                    condition=f"{_OWN_TURN} AND {same_cursor}",
                    names={"#cursor": "cursor"},
                    values=values,
                )
            )
        return taken if is_taken else None

    async def save(self, export: Export, /) -> bool:
        with translate_write_errors:
            # A repeated put of a result would find it, and not that it runs.
            return await condition_held(
                self._client.put(
                    patterns.SAVE_EXPORT,
                    _item(export),
                    condition=_OWN_TURN,
                    values=_turn_values(export),
                    repeatable=export.state is ExportState.RUNNING,
                )
            )

    async def delete(self, tenant: TenantId, user: UserId, /) -> None:
        with translate_write_errors:
            await self._client.delete(patterns.DELETE_EXPORT, _key(tenant, user), repeatable=True)


def _key(tenant: TenantId, user: UserId) -> dict[str, ItemValue]:
    return {"PK": EXPORT_OF_USER.render(tenant=tenant, user=user), "SK": EXPORT_SORT.render()}


def _turn_values(export: Export) -> dict[str, ItemValue]:
    return {":id": export.id, ":turn": export.turn, ":running": ExportState.RUNNING.value}


def _item(export: Export) -> dict[str, ItemValue]:
    optional: dict[str, ItemValue | None] = {
        "cursor": export.cursor,
        "finished_ms": export.finished_ms,
        "archive_bytes": export.archive_bytes,
        "failure": export.failure,
    }
    return _key(export.tenant, export.user) | {
        "export_id": export.id,
        "export_state": export.state.value,
        "requested_by": export.requested_by,
        "requested_ms": export.requested_ms,
        "turn": export.turn,
        "counts": _encode(export.counts),
        "ttl": export.requested_ms // 1000 + _KEPT_S,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _export_from_item(tenant: TenantId, user: UserId, item: Item) -> Export:
    return Export(
        tenant=tenant,
        user=user,
        id=ExportId(item["export_id"]),
        requested_ms=int(item["requested_ms"]),
        requested_by=item["requested_by"],
        state=ExportState(item["export_state"]),
        turn=int(item["turn"]),
        cursor=item.get("cursor"),
        counts=_decode_counts(item["counts"]),
        finished_ms=_number(item, "finished_ms"),
        archive_bytes=_number(item, "archive_bytes"),
        failure=item.get("failure"),
    )


def _number(item: Item, name: str) -> int | None:
    return int(item[name]) if name in item else None
