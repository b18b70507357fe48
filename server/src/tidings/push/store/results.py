"""Results of push notifications in the table `push_results`."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from tidings.inboxes.model import InboxKey, NotificationId
from tidings.kernel.ids import ChatKey, DeviceId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.operations import AccessPattern
from tidings.platform.dynamo.requests import Query
from tidings.push.model import PushAttempt, PushKind, PushOutcome, PushResult
from tidings.schema.tables.items.push import (
    DECISION_SORT,
    MAX_ATTEMPTS,
    NOTIFICATION_RESULT,
    RESULT,
    RESULT_SORT,
)
from tidings.schema.tables.patterns import push as patterns

_TTL_S = 7 * 86_400
_REASON_CHARS = 256
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PushAttempt).decode


class DynamoResultStore:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def put(self, results: Sequence[PushResult], /) -> None:
        if results:
            items = [_item(each) for each in results]
            with translate_write_errors:
                await self._client.batch_write(patterns.PUT_RESULTS, puts=items, repeatable=True)

    async def of_recipient(self, chat: ChatKey, sequence: int, user: UserId, /) -> Sequence[PushResult]:
        query = Query(
            condition="message = :m AND begins_with(recipient, :u)",
            values={":m": _message(chat, sequence), ":u": f"{user}#"},
        )
        return await self._of_message(patterns.READ_RESULTS, query, chat, sequence)

    async def of_message(self, chat: ChatKey, sequence: int, /) -> Sequence[PushResult]:
        query = Query(condition="message = :m", values={":m": _message(chat, sequence)})
        return await self._of_message(patterns.LIST_RESULTS, query, chat, sequence)

    async def of_notification(
        self, inbox_key: InboxKey, notification: NotificationId, /
    ) -> Sequence[PushResult]:
        tenant, user, inbox = inbox_key
        partition = NOTIFICATION_RESULT.render(tenant=tenant, notification=notification, user=user)
        query = Query(condition="message = :m", values={":m": partition})
        items = await self._items(patterns.READ_NOTIFICATION_RESULTS, query)
        about = PushResult(
            tenant=tenant,
            inbox=inbox,
            notification=notification,
            user=user,
            device=None,
            outcome=PushOutcome.SKIPPED,
            decided_ms=0,
        )
        return [_result_from_item(about, item) for item in items if item["inbox"] == inbox]

    async def _of_message(
        self, pattern: AccessPattern, query: Query, chat: ChatKey, sequence: int
    ) -> Sequence[PushResult]:
        about = PushResult(
            tenant=chat.tenant,
            chat=chat.chat,
            sequence=sequence,
            user=UserId(""),
            device=None,
            outcome=PushOutcome.SKIPPED,
            decided_ms=0,
        )
        return [_result_from_item(about, item) for item in await self._items(pattern, query)]

    async def _items(self, pattern: AccessPattern, query: Query) -> list[Item]:
        with translate_read_errors:
            pages = [page async for page in self._client.pages(pattern, query)]
        return [item for page in pages for item in page.items]


def _message(chat: ChatKey, sequence: int) -> str:
    return RESULT.render(tenant=chat.tenant, chat=chat.chat, sequence=sequence)


def _partition(result: PushResult) -> str:
    if result.notification is None:
        return _message(ChatKey(result.tenant, result.chat), result.sequence)
    return NOTIFICATION_RESULT.render(
        tenant=result.tenant, notification=result.notification, user=result.user
    )


def _item(result: PushResult) -> dict[str, ItemValue]:
    recipient = (
        DECISION_SORT.render(user=result.user)
        if result.device is None
        else RESULT_SORT.render(user=result.user, device=result.device)
    )
    item: dict[str, ItemValue | None] = {
        "message": _partition(result),
        "recipient": recipient,
        "inbox": result.inbox,
        "outcome": result.outcome.value,
        "reason": result.reason[:_REASON_CHARS] or None,
        "provider": None if result.provider is None else result.provider.value,
        "collapse_id": result.collapse_id or None,
        "attempts": [_encode(each).decode() for each in result.attempts[-MAX_ATTEMPTS:]] or None,
        "decided_ms": result.decided_ms,
        "ttl": result.decided_ms // 1000 + _TTL_S,
    }
    return {name: value for name, value in item.items() if value is not None}


def _result_from_item(about: PushResult, item: Item) -> PushResult:
    """Return the result of an item. `about` has what the partition of the item names."""
    user, _, device = item["recipient"].partition("#")
    provider = item.get("provider")
    return replace(
        about,
        user=UserId(user),
        device=DeviceId(device) if device else None,
        outcome=PushOutcome(item["outcome"]),
        decided_ms=int(item["decided_ms"]),
        reason=item.get("reason", ""),
        provider=None if provider is None else PushKind(provider),
        collapse_id=item.get("collapse_id", ""),
        attempts=tuple(_decode(each) for each in item.get("attempts", ())),
    )
