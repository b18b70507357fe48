"""Delete what inboxes store about an erased user."""

from typing import Final

from tidings.inboxes.model import InboxId
from tidings.inboxes.ports import ErasedInboxItems
from tidings.inboxes.store.config import DynamoInboxStore
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.inboxes import OF_USER
from tidings.schema.tables.patterns import inboxes as patterns

PAGE_ITEMS: Final = 500
_ROW: Final = "m#"


class DynamoInboxEraser:
    def __init__(self, client: DynamoClient, page_items: int = PAGE_ITEMS) -> None:
        self._client = client
        self._inboxes = DynamoInboxStore(client)
        self._page_items = page_items

    async def delete_page(self, tenant: TenantId, user: UserId, after: str, /) -> ErasedInboxItems:
        page = await self._inboxes.listed(tenant, 1, InboxId(after) if after else None)
        if not page.items:
            return ErasedInboxItems(0, None)
        inbox = page.items[0].id
        query = Query(
            condition="PK = :p",
            values={":p": OF_USER.render(tenant=tenant, user=user, inbox=inbox)},
            projection="PK, SK",
            limit=self._page_items,
        )
        with translate_write_errors:
            found = await self._client.query(patterns.LIST_OWN, query)
            if found.items:
                await self._client.batch_write(patterns.DELETE_OWN, deletes=found.items, repeatable=True)
        notifications = sum(item["SK"].startswith(_ROW) for item in found.items)
        # An inbox with more items is read again from its start, without those that were deleted.
        return ErasedInboxItems(notifications, inbox if found.start is None else after)
