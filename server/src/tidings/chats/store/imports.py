"""Rows of chats and members that are imported."""

from tidings.chats import items
from tidings.chats.model import Chat, ImportState, ImportStep, ImportTotals, Membership
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.ids import ChatKey, Epoch
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.platform.dynamo.errors import ConditionFailedError, translate_write_errors
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import imports as patterns

_ABSENT = "attribute_not_exists(chat_id)"


class DynamoImportChats:
    def __init__(self, client: DynamoClient, clock: Clock, epoch: Epoch) -> None:
        self._client = client
        self._clock = clock
        self._epoch = epoch

    async def claim(self, chat: Chat, created_at_ms: int) -> ImportState:
        item = items.chat_item(chat, format_ms(created_at_ms), self._epoch())
        item["importing"] = ImportStep.LOG.value
        with translate_write_errors:
            try:
                await self._client.put(patterns.CLAIM_CHAT, item, condition=_ABSENT, repeatable=True)
            except ConditionFailedError as failed:
                return _state(failed.item or {})
        return ImportState(ImportStep.LOG, is_new=True)

    async def open(self, chat: ChatKey, totals: ImportTotals) -> None:
        sets = "SET importing = :members, member_count = :count, updated_at = :now"
        values: dict[str, ItemValue] = {
            ":log": ImportStep.LOG.value,
            ":members": ImportStep.MEMBERS.value,
            ":count": totals.member_count,
            ":now": format_ms(self._clock.now_ms()),
        }
        if totals.some_members:
            sets += ", some_members = :some"
            values[":some"] = set(totals.some_members)
        if totals.large_since is not None:
            sets += ", large_since = :large"
            values[":large"] = totals.large_since
        await self._advance(chat, sets, "importing = :log", values)

    async def finish(self, chat: ChatKey, entries: int) -> None:
        values: dict[str, ItemValue] = {":members": ImportStep.MEMBERS.value, ":entries": entries}
        await self._advance(chat, "SET imported = :entries REMOVE importing", "importing = :members", values)

    async def add_member(self, chat: ChatKey, member: Membership, joined_at_ms: int) -> None:
        item = items.membership_item(chat, member, format_ms(joined_at_ms), self._epoch())
        if member.blocks_other:
            item["blocks"] = True
        if member.blocked_by_other:
            item["blocked"] = True
        with translate_write_errors:
            try:
                await self._client.put(patterns.ADD_MEMBER, item, condition=_ABSENT, repeatable=True)
            except ConditionFailedError:
                return  # An earlier run wrote it, and the user may have changed it since.

    async def _advance(
        self, chat: ChatKey, update: str, condition: str, values: dict[str, ItemValue]
    ) -> None:
        with translate_write_errors:
            try:
                await self._client.update(
                    patterns.ADVANCE_CHAT,
                    {"chat_id": chat_key(chat)},
                    update,
                    condition=condition,
                    values=values,
                    repeatable=True,
                )
            except ConditionFailedError:
                return  # An attempt without an answer was applied.


def _state(item: Item) -> ImportState:
    if "importing" in item:
        return ImportState(ImportStep(item["importing"]))
    if "imported" in item:
        return ImportState(ImportStep.FINISHED, int(item["imported"]))
    return ImportState(ImportStep.NONE)
