"""Who has read a broadcast that was sent to be tracked: one item each, beside its content."""

from collections.abc import Collection

from tidings.kernel.ids import TenantId, UserId
from tidings.notices.model import NoticeId
from tidings.notices.ports import ReaderPage, Reading
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.outcomes import unread, unwritten
from tidings.platform.dynamo.queries import Query
from tidings.platform.dynamo.values import Value
from tidings.tables.items.inbox import OF_NOTICE, READER_SORT
from tidings.tables.keys import KeyTemplate
from tidings.tables.patterns import notices as patterns

_FIRST = KeyTemplate("r#").render()


class DynamoReaders:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def note(self, tenant: TenantId, user: UserId, notices: Collection[NoticeId], at_ms: int) -> None:
        items = [_key(tenant, notice, user) | {"at": at_ms} for notice in notices]
        try:
            await self._client.batch_write(patterns.NOTE_READER, puts=items, repeatable=True)
        except DynamoError as error:
            unwritten(error)

    async def page(
        self, tenant: TenantId, notice: NoticeId, limit: int, below: UserId | None = None
    ) -> ReaderPage:
        query = Query(
            condition="PK = :p AND begins_with(SK, :r)",
            values={":p": OF_NOTICE.render(tenant=tenant, notice=notice), ":r": _FIRST},
            limit=limit,
            start=None if below is None else _key(tenant, notice, below),
        )
        try:
            page = await self._client.query(patterns.LIST_READERS, query)
        except DynamoError as error:
            unread(error)
        found = [Reading(UserId(item["SK"].partition("#")[2]), int(item["at"])) for item in page.items]
        return ReaderPage(found, found[-1].user if page.start is not None else None)


def _key(tenant: TenantId, notice: NoticeId, user: UserId) -> dict[str, Value]:
    return {
        "PK": OF_NOTICE.render(tenant=tenant, notice=notice),
        "SK": READER_SORT.render(user=user),
    }
