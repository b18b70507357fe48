"""Who has read a broadcast that was sent to be tracked: one item each, beside its content."""

from collections.abc import Collection

from tidings.broadcasts.ports import ReaderPage, ReadRecord
from tidings.kernel.ids import TenantId, UserId
from tidings.notices.model import NotificationId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import raise_read_error, raise_write_error
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import ItemValue
from tidings.tables.items.inbox import OF_NOTIFICATION, READER_SORT
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST_READER = KeyTemplate("r#").render()


class DynamoReadTracker:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def note(
        self, tenant: TenantId, user: UserId, notifications: Collection[NotificationId], at_ms: int
    ) -> None:
        items = [_key(tenant, notice, user) | {"at": at_ms} for notice in notifications]
        try:
            await self._client.batch_write(patterns.NOTE_READER, puts=items, repeatable=True)
        except DynamoError as error:
            raise_write_error(error)

    async def page(
        self, tenant: TenantId, notification: NotificationId, limit: int, below: UserId | None = None
    ) -> ReaderPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :r)",
            values={":p": OF_NOTIFICATION.render(tenant=tenant, notice=notification), ":r": _FIRST_READER},
            limit=limit,
            start=None if below is None else _key(tenant, notification, below),
        )
        try:
            page = await self._client.query(patterns.LIST_READERS, query)
        except DynamoError as error:
            raise_read_error(error)
        found = [ReadRecord(UserId(item["SK"].partition("#")[2]), int(item["at"])) for item in page.items]
        return ReaderPage(found, found[-1].user if page.start is not None else None)


def _key(tenant: TenantId, notification: NotificationId, user: UserId) -> dict[str, ItemValue]:
    return {
        "PK": OF_NOTIFICATION.render(tenant=tenant, notice=notification),
        "SK": READER_SORT.render(user=user),
    }
