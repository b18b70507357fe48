"""Quiet rows on the real engine: copies of a group's head, which are never behind it."""

import pytest
from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by

from tidings.app.wiring.chats import build_chat_row_writer
from tidings.delivery.chat_list import with_heads
from tidings.delivery.model import RowUpdate
from tidings.delivery.store import DynamoChatRowWriter
from tidings.kernel.ids import ChatKey, UserId


class QuietEnv(ChatListEnv):
    """A group whose head can be read and copied into rows."""

    def __init__(self, use_cases: UseCaseEnv) -> None:
        super().__init__(use_cases)
        self.writer: DynamoChatRowWriter = build_chat_row_writer(use_cases.client, lambda: use_cases.epoch)

    async def head(self, chat: ChatKey) -> RowUpdate:
        return (await self.store.heads(chat.tenant, [chat.chat]))[chat.chat]

    async def copy(self, chat: ChatKey, user: UserId) -> bool:
        return await self.writer.copy_head(chat, user, await self.head(chat))

    def head_reads(self) -> float:
        patterns = {"counters.read_many", "counters.read_groups"}
        return sum(row.read_units for row in self.use_cases.client.ledger.rows() if row.pattern in patterns)

    async def is_quiet(self, chat: ChatKey, user: UserId) -> bool:
        return (await self.row(chat, user)).known.quiet_at_ms is not None


async def quiet_group(use_cases: UseCaseEnv) -> tuple[QuietEnv, ChatKey]:
    """Return a group of Anna, Ben and Cleo with one message, whose head is copied into the row of Ben."""
    lists = QuietEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "hello")
    await lists.deliver()
    assert await lists.copy(chat, BEN)
    return lists, chat


async def test_a_quiet_row_has_the_position_without_a_read_of_the_head(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    expected = await lists.head(chat)
    before = lists.head_reads()
    row = await lists.shown(chat, BEN)
    totals = await lists.list.unread_totals(use_cases.tenant, BEN)
    assert (row.known.head, totals.messages) == (expected.head, 1)
    assert lists.head_reads() == before


async def test_a_list_shows_the_last_message_of_a_quiet_group(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    before = lists.head_reads()
    listed, other = await lists.listed(chat, BEN), await lists.listed(chat, CLEO)
    assert (listed.last, listed.unread, listed.at_ms) == (other.last, 1, other.at_ms)
    assert lists.head_reads() - before == 2 * (1 + 0.5), "one head and one name for each list"
    one = await lists.list.one(chat, BEN)
    assert one is not None
    assert one.last == other.last


async def test_the_next_entry_is_written_to_the_rows_of_all_members_once(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    raised = use_cases.client.ledger["chat_list.raise_row"]
    before = raised.write_units
    await use_cases.send(chat, ANNA, "again")
    await lists.deliver()
    assert raised.write_units - before == 4, (
        "the sender's row, then those of three members: one fails its condition"
    )
    assert not await lists.is_quiet(chat, BEN)
    assert (await lists.unread(chat, BEN), await lists.text(chat, BEN)) == (2, "again")
    before = raised.write_units
    await use_cases.send(chat, ANNA, "and again")
    await lists.deliver()
    assert raised.write_units - before == 1, "the sender's row"
    assert await lists.unread(chat, BEN) == 3


async def test_a_head_that_has_moved_is_not_copied(use_cases: UseCaseEnv) -> None:
    lists = QuietEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await lists.deliver()
    old = await lists.head(chat)
    await use_cases.send(chat, ANNA, "hello")
    await lists.deliver()
    assert not await lists.writer.copy_head(chat, BEN, old)
    assert not await lists.is_quiet(chat, BEN)
    assert await lists.unread(chat, BEN) == 1


async def test_a_copy_that_is_written_after_the_rows_were_raised_is_refused(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    marked = await lists.head(chat)
    assert marked.quiet_at_ms is not None
    await use_cases.send(chat, ANNA, "again")
    await lists.deliver()
    assert not await lists.writer.copy_head(chat, CLEO, marked), "the row of Cleo is at the new message"
    assert not await lists.is_quiet(chat, CLEO)


async def test_a_copy_between_the_raise_of_the_rows_and_of_the_head_is_refused(
    use_cases: UseCaseEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists, chat = await quiet_group(use_cases)
    raise_head = DynamoChatRowWriter.raise_head
    copied: list[bool] = []

    async def copies_first(
        self: DynamoChatRowWriter, chat: ChatKey, first: int, update: RowUpdate, *, ends_quiet: bool = False
    ) -> int | None:
        if ends_quiet:
            copied.extend([await lists.copy(chat, BEN), await lists.copy(chat, CLEO)])
        return await raise_head(self, chat, first, update, ends_quiet=ends_quiet)

    monkeypatch.setattr(DynamoChatRowWriter, "raise_head", copies_first)
    await use_cases.send(chat, ANNA, "again")
    await lists.deliver()
    assert copied == [False, False]
    assert await lists.unread(chat, BEN) == 2


async def test_a_head_is_not_copied_into_the_row_of_a_user_who_has_left(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    await use_cases.send(chat, ANNA, "after the leave")
    await lists.deliver()
    before = await lists.row(chat, BEN)
    assert not await lists.copy(chat, BEN)
    assert await lists.row(chat, BEN) == before


async def test_a_member_who_leaves_a_quiet_group_and_returns_sees_new_messages(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    await lists.deliver()
    assert not await lists.is_quiet(chat, BEN)
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.send(chat, ANNA, "welcome back")
    await lists.deliver()
    assert (await lists.unread(chat, BEN), await lists.text(chat, BEN)) == (1, "welcome back")


async def test_no_row_is_quiet_after_a_restore(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    use_cases.epoch = 1
    assert not await lists.is_quiet(chat, BEN)
    assert (await lists.head(chat)).quiet_at_ms is None
    use_cases.epoch = 1
    assert await lists.copy(chat, BEN), "a row of the present epoch is copied again"
    assert await lists.is_quiet(chat, BEN)


async def test_a_quiet_row_of_another_epoch_is_not_written(use_cases: UseCaseEnv) -> None:
    lists, chat = await quiet_group(use_cases)
    head = await lists.head(chat)
    use_cases.epoch = 1
    assert not await lists.writer.copy_head(chat, CLEO, head), "neither row nor head is of this epoch"
    [row] = await with_heads(lists.store, use_cases.tenant, CLEO, [await lists.row(chat, CLEO)])
    assert row.known.quiet_at_ms is None
