"""When a member read a message, and what a member list shows of a member."""

from collections.abc import Mapping, Sequence

import pytest
from fixtures.memory_rows import MemoryChat

from tidings.delivery.model import Joined, Mark, News, Progress, Raised, Row
from tidings.delivery.status import Statuses
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, Kind

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
BEN = UserId("ben")


def row(*, is_large: bool = False) -> Row:
    known = News(joined=Joined(1, 0, 500), own=Mark(9, 8), is_large=is_large)
    return Row(chat=CHAT.chat, known=known, read=Mark(7, 6), read_at_ms=1_000, delivered=Mark(8, 7))


@pytest.mark.parametrize(("ordinal", "at_ms"), [(5, None), (6, 1_000), (7, None)])
def test_the_time_is_known_of_the_newest_message_that_the_mark_covers(
    ordinal: int, at_ms: int | None
) -> None:
    message = Entry(
        sequence=ordinal + 1,
        ordinal=ordinal,
        kind=Kind.MESSAGE,
        sender=UserId("anna"),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=1,
    )
    assert row().read_message_at_ms(message) == at_ms


class Kept:
    def __init__(self, found: Row) -> None:
        self._found = found

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Row]:
        assert chat == CHAT
        return dict.fromkeys(users, self._found)

    async def raise_read(self, chat: ChatKey, user: UserId, mark: Mark) -> Raised:
        raise NotImplementedError

    raise_delivered = raise_read


async def test_progress_counts_own_messages_as_read() -> None:
    shown = await Statuses(MemoryChat([], {}), Kept(row())).progress(CHAT, [BEN])
    assert shown == {BEN: Progress(500, 9, 9, 1_000)}


async def test_nobodys_progress_is_shown_in_a_large_chat() -> None:
    shown = await Statuses(MemoryChat([], {}), Kept(row(is_large=True))).progress(CHAT, [BEN])
    assert shown == {BEN: Progress(500)}
