"""Endpoints with queued items, in the table `webhooks`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import condition_held, translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.webhooks import BACKLOG_KEY, BACKLOGS
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks.model import Backlog, EndpointId, EndpointName


class DynamoBacklogs:
    """The part of the queue that says which endpoints have items."""

    def __init__(self, client: DynamoClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def backlogs(self) -> Sequence[Backlog]:
        query = Query(condition="endpoint = :s", values={":s": BACKLOGS.render()})
        with translate_read_errors:
            pages = [page async for page in self._client.pages(patterns.LIST_BACKLOGS, query)]
        return [_backlog_from(item) for page in pages for item in page.items]

    async def lease(self, backlog: Backlog, now_ms: int, until_ms: int) -> bool:
        with translate_write_errors:
            return await condition_held(
                self._client.update(
                    patterns.LEASE_BACKLOG,
                    _backlog_key(backlog.endpoint),
                    "SET leased_ms = :until",
                    condition="attribute_exists(endpoint) AND (attribute_not_exists(leased_ms) OR leased_ms <= :now)",
                    values={":until": until_ms, ":now": now_ms},
                )
            )

    async def release(self, backlog: Backlog, due_ms: int, failing_ms: int) -> None:
        values = {":zero": 0, ":failing": failing_ms}
        key, release = _backlog_key(backlog.endpoint), "SET leased_ms = :zero, failing_ms = :failing"
        with translate_write_errors:
            is_unchanged = await condition_held(
                self._client.update(
                    patterns.NOTE_BACKLOG,
                    key,
                    f"{release}, due_ms = :due",
                    condition="version = :v",
                    values=values | {":due": due_ms, ":v": backlog.version},
                )
            )
            if not is_unchanged:
                await condition_held(
                    self._client.update(
                        patterns.NOTE_BACKLOG,
                        key,
                        release,
                        condition="attribute_exists(endpoint)",
                        values=values,
                    )
                )

    async def finish(self, backlog: Backlog) -> bool:
        with translate_write_errors:
            return await condition_held(
                self._client.delete(
                    patterns.DELETE_BACKLOG,
                    _backlog_key(backlog.endpoint),
                    condition="version = :v",
                    values={":v": backlog.version},
                )
            )

    async def mark_healthy(self, endpoint: EndpointName) -> None:
        with translate_write_errors:
            await condition_held(
                self._client.update(
                    patterns.NOTE_BACKLOG,
                    _backlog_key(endpoint),
                    "SET failing_ms = :zero",
                    condition="attribute_exists(endpoint)",
                    values={":zero": 0},
                )
            )

    async def retry_all(self, endpoint: EndpointName, now_ms: int) -> None:
        with translate_write_errors:
            await condition_held(
                self._client.update(
                    patterns.NOTE_BACKLOG,
                    _backlog_key(endpoint),
                    "SET retry_ms = :now, due_ms = :now ADD version :one",
                    condition="attribute_exists(endpoint)",
                    values={":now": now_ms, ":one": 1},
                )
            )

    async def note_backlog(self, endpoint: EndpointName) -> None:
        """Record that an item was queued."""
        with translate_write_errors:
            await self._client.update(
                patterns.NOTE_BACKLOG,
                _backlog_key(endpoint),
                "SET due_ms = :now ADD version :one",
                values={":now": self._clock.now_ms(), ":one": 1},
                repeatable=True,
            )


def _backlog_key(endpoint: EndpointName) -> dict[str, Any]:
    return {
        "endpoint": BACKLOGS.render(),
        "item": BACKLOG_KEY.render(tenant=endpoint.tenant, endpoint=endpoint.id),
    }


def _backlog_from(item: Mapping[str, Any]) -> Backlog:
    tenant, _, endpoint = item["item"].partition("#")
    return Backlog(
        endpoint=EndpointName(TenantId(tenant), EndpointId(endpoint)),
        version=int(item.get("version", 0)),
        due_ms=int(item.get("due_ms", 0)),
        leased_ms=int(item.get("leased_ms", 0)),
        failing_ms=int(item.get("failing_ms", 0)),
        retry_ms=int(item.get("retry_ms", 0)),
    )
