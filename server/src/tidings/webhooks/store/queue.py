"""The queue of webhooks, in the table `webhooks`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    condition_held,
    translate_read_errors,
    translate_write_errors,
)
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.webhooks import (
    EVENT_KEY,
    QUEUE,
    REPLAY_KEY,
    REPLAYED_RUN_KEY,
    RUN_KEY,
)
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks.model import Attempt, EndpointName, QueuedItem, QueueKind
from tidings.webhooks.store.backlogs import DynamoBacklogs

_NAMES: Mapping[str, str] = {"#f": "first", "#l": "last"}
_REASON_BYTES = 256


class DynamoWebhookQueue(DynamoBacklogs):
    async def add_run(
        self,
        endpoint: EndpointName,
        chat: ChatKey,
        first: int,
        last: int,
        *,
        kind: QueueKind = QueueKind.RUN,
        due_ms: int,
        attempt: Attempt | None = None,
        tried_ms: int = 0,
    ) -> None:
        item = QueuedItem(
            endpoint=endpoint,
            kind=kind,
            key=chat.chat,
            first=first,
            last=last,
            attempts=0 if attempt is None else 1,
            due_ms=due_ms,
            tried_ms=tried_ms,
            status=None if attempt is None else attempt.status,
            reason="" if attempt is None else attempt.reason,
        )
        with translate_write_errors:
            stored = await self._create_run(item)
            while stored is not None:
                stored = await self._merge_run(item, stored)
        # The item first: a worker that finds the backlog must find the item, and one that found the queue empty before
        # it was written sees another version of the backlog and keeps it.
        await self.note_backlog(endpoint)

    async def _create_run(self, item: QueuedItem) -> Item | None:
        """Create a run. Returns the stored one if the chat has a run already."""
        values = _values(item)
        try:
            await self._client.update(
                patterns.QUEUE_RUN,
                _key(item),
                "SET " + ", ".join(f"#{name} = :{name}" for name in values),
                condition="attribute_not_exists(endpoint)",
                names={f"#{name}": name for name in values},
                values={f":{name}": value for name, value in values.items()},
                repeatable=True,
            )
        except ConditionFailedError as failed:
            return failed.item
        return None

    async def _merge_run(self, item: QueuedItem, stored: Item) -> Item | None:
        """Extend a stored run. Returns the newer one if it changed meanwhile."""
        first, last = int(stored["first"]), int(stored["last"])
        if first <= item.first and last >= item.last:
            return None
        # Race: a worker has claimed the run and settles it after this write. If `first` is lowered, the claim must end:
        # otherwise the worker would move `first` behind entries that it did not send.
        is_lowered = item.first < first
        try:
            await self._client.update(
                patterns.QUEUE_RUN,
                _key(item),
                "SET #f = :f, #l = :l" + (", due_ms = :due" if is_lowered else ""),
                condition="#f = :first AND #l = :last",
                names=_NAMES,
                values={
                    ":f": min(first, item.first),
                    ":l": max(last, item.last),
                    ":first": first,
                    ":last": last,
                }
                | ({":due": item.due_ms} if is_lowered else {}),
            )
        except ConditionFailedError as failed:
            if failed.item is None:
                return await self._create_run(item)
            return failed.item
        return None

    async def extend(self, endpoint: EndpointName, chat: ChatKey, last: int) -> bool:
        key = {"endpoint": _queue(endpoint), "item": RUN_KEY.render(chat=chat.chat)}
        try:
            with translate_write_errors:
                await self._client.update(
                    patterns.EXTEND_RUN,
                    key,
                    "SET #l = :l",
                    condition="#l < :l",
                    names={"#l": "last"},
                    values={":l": last},
                    repeatable=True,
                )
        except ConditionFailedError as failed:
            return failed.item is not None
        return True

    async def add_items(self, items: Sequence[QueuedItem]) -> None:
        with translate_write_errors:
            plain = [_key(item) | _values(item) for item in items if not item.order]
            if plain:
                await self._client.batch_write(patterns.QUEUE_ITEMS, puts=plain, repeatable=True)
            await gather_limited(self._put_newer(item) for item in items if item.order)
        await gather_limited(self.note_backlog(endpoint) for endpoint in {item.endpoint for item in items})

    async def _put_newer(self, item: QueuedItem) -> None:
        """Queue an event, unless one that waits with its key has the same order or a higher one."""
        await condition_held(
            self._client.put(
                patterns.QUEUE_NEWER,
                _key(item) | _values(item),
                condition="attribute_not_exists(#o) OR #o < :o",
                names={"#o": "order"},
                values={":o": item.order},
                repeatable=True,
            )
        )

    async def items(self, endpoint: EndpointName, limit: int) -> Sequence[QueuedItem]:
        found: list[QueuedItem] = []
        query = Query(condition="endpoint = :e", values={":e": _queue(endpoint)}, limit=limit)
        with translate_read_errors:
            async for page in self._client.pages(patterns.LIST_QUEUE, query):
                found += [_item_from(endpoint, item) for item in page.items]
                if len(found) >= limit:
                    break
        return found[:limit]

    async def claim(self, item: QueuedItem, until_ms: int) -> QueuedItem | None:
        try:
            with translate_write_errors:
                result = await self._client.update(
                    patterns.CLAIM_RUN,
                    _key(item),
                    "SET due_ms = :until",
                    condition="due_ms = :due",
                    values={":until": until_ms, ":due": item.due_ms},
                    returns="ALL_NEW",
                )
        except ConditionFailedError:
            return None
        return None if result.attributes is None else _item_from(item.endpoint, result.attributes)

    async def settle(self, claimed: QueuedItem, after: QueuedItem | None) -> None:
        with translate_write_errors:
            if after is not None:
                await self._replace(claimed, after)
            elif not await self._delete(claimed):
                # Race: the consumer extended the run while its last entry was sent. The rest is due now.
                rest = {"first": claimed.last + 1, "attempts": 0, "due_ms": self._clock.now_ms()}
                await self._update(claimed, rest)

    async def _delete(self, claimed: QueuedItem) -> bool:
        return await condition_held(
            self._client.delete(
                patterns.DELETE_RUN,
                _key(claimed),
                condition="due_ms = :due AND #l = :last",
                names={"#l": "last"},
                values={":due": claimed.due_ms, ":last": claimed.last},
            )
        )

    async def _replace(self, claimed: QueuedItem, after: QueuedItem) -> None:
        values = _values(after)
        del values["last"]  # only the consumer extends a run
        await self._update(claimed, values)

    async def _update(self, claimed: QueuedItem, values: Mapping[str, Any]) -> None:
        await condition_held(
            self._client.update(
                patterns.SETTLE_RUN,
                _key(claimed),
                "SET " + ", ".join(f"#{name} = :{name}" for name in values),
                condition="due_ms = :claim",
                names={f"#{name}": name for name in values},
                values={":claim": claimed.due_ms} | {f":{name}": value for name, value in values.items()},
            )
        )

    async def drop(self, endpoint: EndpointName) -> int:
        dropped = 0
        while found := await self.items(endpoint, 1_000):
            with translate_write_errors:
                await self._client.batch_write(
                    patterns.DROP_QUEUE, deletes=[_key(item) for item in found], repeatable=True
                )
            dropped += len(found)
        return dropped


_KEYS = {
    QueueKind.RUN: (RUN_KEY, "chat"),
    QueueKind.REPLAYED: (REPLAYED_RUN_KEY, "chat"),
    QueueKind.EVENT: (EVENT_KEY, "event"),
    QueueKind.REPLAY: (REPLAY_KEY, "key"),
}


def _queue(endpoint: EndpointName) -> str:
    return QUEUE.render(tenant=endpoint.tenant, endpoint=endpoint.id)


def _key(item: QueuedItem) -> dict[str, Any]:
    template, part = _KEYS[item.kind]
    return {"endpoint": _queue(item.endpoint), "item": template.render(**{part: item.key})}


def _values(item: QueuedItem) -> dict[str, Any]:
    values: dict[str, Any] = {
        "first": item.first,
        "last": item.last,
        "attempts": item.attempts,
        "due_ms": item.due_ms,
        "tried_ms": item.tried_ms,
        "reason": item.reason.encode()[:_REASON_BYTES].decode(errors="ignore"),
        "status": item.status or 0,
    }
    if item.kind is QueueKind.EVENT:
        values |= {"body": item.body, "order": item.order}
    if item.kind is QueueKind.REPLAY:
        values["since_ms"] = item.since_ms
    return values


def _item_from(endpoint: EndpointName, item: Mapping[str, Any]) -> QueuedItem:
    kind, _, key = item["item"].partition("#")
    return QueuedItem(
        endpoint=endpoint,
        kind=QueueKind(kind),
        key=key,
        first=int(item["first"]),
        last=int(item["last"]),
        attempts=int(item["attempts"]),
        due_ms=int(item["due_ms"]),
        tried_ms=int(item["tried_ms"]),
        status=int(item["status"]) or None,
        reason=item["reason"],
        body=item.get("body", b""),
        order=int(item.get("order", 0)),
        since_ms=int(item.get("since_ms", 0)),
    )
