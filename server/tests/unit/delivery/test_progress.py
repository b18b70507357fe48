"""When a member read a message, and what a member list shows of a member."""

from collections.abc import Mapping, Sequence

import pytest
from fixtures.memory_chat_rows import MemoryChat

from tidings.delivery.model import (
    ChatFlags,
    ChatRow,
    JoinPosition,
    LogPosition,
    MemberProgress,
    RowUpdate,
    WatermarkUpdate,
)
from tidings.delivery.watermarks import MessageStatusReader
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
BEN = UserId("ben")


def row(*, is_large: bool = False) -> ChatRow:
    known = RowUpdate(joined=JoinPosition(1, 0, 500), own=LogPosition(9, 8), is_large=is_large)
    return ChatRow(
        chat=CHAT.chat, known=known, read=LogPosition(7, 6), read_at_ms=1_000, delivered=LogPosition(8, 7)
    )


@pytest.mark.parametrize(("ordinal", "at_ms"), [(5, None), (6, 1_000), (7, None)])
def test_the_time_of_the_newest_message_up_to_the_watermark_is_known(ordinal: int, at_ms: int | None) -> None:
    message = Entry(
        sequence=ordinal + 1,
        ordinal=ordinal,
        kind=EntryKind.MESSAGE,
        sender=UserId("anna"),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=1,
    )
    assert row().read_message_at_ms(message) == at_ms


class Kept:
    def __init__(self, found: ChatRow) -> None:
        self._found = found

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        assert chat == CHAT
        return dict.fromkeys(users, self._found)

    async def raise_read(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate:
        raise NotImplementedError

    raise_delivered = raise_read

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow:
        raise NotImplementedError


async def test_progress_counts_own_messages_as_read() -> None:
    shown = await MessageStatusReader(MemoryChat([], {}), Kept(row())).progress(CHAT, [BEN])
    assert shown == {BEN: MemberProgress(500, 9, 9, 1_000)}


async def test_a_large_chat_shows_no_progress_of_members() -> None:
    shown = await MessageStatusReader(MemoryChat([], {}), Kept(row(is_large=True))).progress(CHAT, [BEN])
    assert shown == {BEN: MemberProgress(500)}
