"""Pages of history: the entries that a member sees, and the range that each page covers."""

from typing import Any

import pytest
from fixtures.use_cases import ANNA, BEN, DORA, UseCaseEnv, by, code_of

from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.history import ContentState, HistorySlice
from tidings.platform.dynamo.codec import ItemValue
from tidings.schema.tables.patterns import erasure as patterns


def sequences(page: HistorySlice) -> list[int]:
    return [shown.entry.sequence for shown in page.entries]


async def talk(use_cases: UseCaseEnv, count: int) -> ChatKey:
    chat = await use_cases.group(BEN)
    for n in range(count):
        await use_cases.send(chat, ANNA, f"m{n}")
    return chat


async def test_pages_go_back_to_the_first_entry_and_return_their_range(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 9)
    first = await use_cases.history.before(chat, BEN, None, 4)
    assert (sequences(first), first.after, first.up_to) == ([10, 9, 8, 7], 6, 10)
    assert (first.has_older, first.has_newer) == (True, False)
    second = await use_cases.history.before(chat, BEN, first.after + 1, 4)
    assert (sequences(second), second.after, second.up_to) == ([6, 5, 4, 3], 2, 6)
    last = await use_cases.history.before(chat, BEN, second.after + 1, 4)
    assert (sequences(last), last.after, last.has_older, last.has_newer) == ([2, 1], 0, False, True)
    assert first.entries[0].content is not None
    assert first.entries[0].content.text == "m8"


async def test_reading_forward_ends_at_the_head(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 9)
    page = await use_cases.history.after(chat, BEN, 3, 4)
    assert (sequences(page), page.after, page.up_to, page.has_newer) == ([7, 6, 5, 4], 3, 7, True)
    page = await use_cases.history.after(chat, BEN, 7, 4)
    assert (sequences(page), page.up_to, page.has_newer) == ([10, 9, 8], 10, False)
    assert sequences(await use_cases.history.after(chat, BEN, 10, 4)) == []


async def test_around_returns_entries_on_both_sides(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 9)
    page = await use_cases.history.around(chat, BEN, 5, 6)
    assert (sequences(page), page.after, page.up_to) == ([8, 7, 6, 5, 4, 3], 2, 8)
    assert (page.has_older, page.has_newer) == (True, True)


@pytest.mark.parametrize("comes_back", [False, True])
async def test_a_member_removed_between_the_two_reads_of_a_page_sees_nothing_after_the_removal(
    use_cases: UseCaseEnv, *, comes_back: bool
) -> None:
    chat = await talk(use_cases, 2)  # 1..3, Ben is in
    honest, reader = use_cases.reader.range, use_cases.reader

    async def late(*given: Any, **more: Any) -> Any:
        """Called when the intervals have been read and the log has not."""
        reader.range = honest  # type: ignore[method-assign]
        await use_cases.manage.remove(chat, by(ANNA), BEN)  # 4
        await use_cases.send(chat, ANNA, "secret")  # 5
        if comes_back:
            await use_cases.manage.add(chat, by(ANNA), [BEN])  # 6
        return await honest(*given, **more)

    wanted = [6, 4, 3] if comes_back else [4, 3]
    reader.range = late  # type: ignore[method-assign]
    assert sequences(await use_cases.history.after(chat, BEN, 2, 50)) == wanted


async def test_a_member_removed_between_the_two_reads_of_the_newest_page_sees_nothing_after_the_removal(
    use_cases: UseCaseEnv,
) -> None:
    chat = await talk(use_cases, 2)
    honest, reader = use_cases.reader.range, use_cases.reader

    async def late(*given: Any, **more: Any) -> Any:
        reader.range = honest  # type: ignore[method-assign]
        await use_cases.manage.remove(chat, by(ANNA), BEN)
        await use_cases.send(chat, ANNA, "secret")
        return await honest(*given, **more)

    reader.range = late  # type: ignore[method-assign]
    assert sequences(await use_cases.history.before(chat, BEN, None, 50)) == [4, 3, 2, 1]


async def test_a_member_who_rejoined_sees_both_intervals_and_nothing_between(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 2)  # 1..3, Ben is in
    await use_cases.manage.remove(chat, by(ANNA), BEN)  # 4
    for n in range(3):
        await use_cases.send(chat, ANNA, f"secret {n}")  # 5..7
    await use_cases.manage.add(chat, by(ANNA), [BEN])  # 8
    await use_cases.send(chat, ANNA, "back")  # 9
    page = await use_cases.history.before(chat, BEN, None, 50)
    assert (sequences(page), page.after, page.up_to) == ([9, 8, 4, 3, 2, 1], 0, 9)
    assert sequences(await use_cases.history.after(chat, BEN, 4, 50)) == [9, 8]
    assert sequences(await use_cases.history.before(chat, BEN, 8, 2)) == [4, 3]
    assert await code_of(use_cases.history.one(chat, BEN, 6)) is Code.MESSAGE_NOT_FOUND
    assert (await use_cases.history.one(chat, ANNA, 6)).entry.sequence == 6


async def test_a_former_member_reads_up_to_their_leave(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 2)
    await use_cases.manage.remove(chat, by(BEN), BEN)
    await use_cases.send(chat, ANNA, "later")
    assert sequences(await use_cases.history.before(chat, BEN, None, 50)) == [4, 3, 2, 1]


async def test_a_non_member_reads_nothing(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases, 2)
    assert await code_of(use_cases.history.before(chat, DORA, None, 50)) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.history.one(chat, DORA, 2)) is Code.MESSAGE_NOT_FOUND


async def test_pages_are_bounded_and_together_complete(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    for n in range(0, 260, 20):
        await _many(use_cases, chat, n, 20)
    seen: list[int] = []
    page = await use_cases.history.before(chat, BEN, None, 1000)
    while True:
        seen += sequences(page)
        if not page.has_older:
            break
        page = await use_cases.history.before(chat, BEN, page.after + 1, 1000)
    assert seen == list(range(261, 0, -1))


async def _many(use_cases: UseCaseEnv, chat: ChatKey, start: int, count: int) -> None:
    import asyncio  # noqa: PLC0415

    await asyncio.gather(*(use_cases.send(chat, ANNA, "x" * 3000, key=f"k{start + n}") for n in range(count)))


@pytest.mark.parametrize("user", [ANNA, BEN])
async def test_expired_content_is_hidden_immediately_and_its_entry_stays(
    use_cases: UseCaseEnv, user: UserId
) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "for a moment", ttl_s=60)
    await use_cases.send(chat, ANNA, "for ever")
    page = await use_cases.history.before(chat, user, None, 50)
    assert [s.content.text if s.content else None for s in page.entries] == [
        "for ever",
        "for a moment",
        None,
    ]
    use_cases.clock.ahead_ms = 60_001
    page = await use_cases.history.before(chat, user, None, 50)
    assert [s.state for s in page.entries] == [
        ContentState.ACTIVE,
        ContentState.EXPIRED,
        ContentState.ACTIVE,
    ]
    assert [s.content.text if s.content else None for s in page.entries] == ["for ever", None, None]


async def test_the_log_never_contains_ephemeral_content(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "for a moment", ttl_s=60)
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert entry.content is None
    assert list(await use_cases.reader.ephemeral(chat, 0, 10)) == [sent.sequence]


async def test_a_tampered_message_does_not_fail_its_page(
    use_cases: UseCaseEnv,
) -> None:
    chat = await talk(use_cases, 3)
    row: dict[str, ItemValue] = {"chat_id": f"{chat.tenant}#{chat.chat}", "sequence": 3}
    other = await use_cases.reader.one(chat, 2)
    assert other is not None
    await use_cases.client.update(
        patterns.ERASE, row, "SET content = :moved", values={":moved": other.content}
    )
    page = await use_cases.history.before(chat, BEN, None, 10)
    assert [shown.state for shown in page.entries] == [
        ContentState.ACTIVE,
        ContentState.UNREADABLE,
        ContentState.ACTIVE,
        ContentState.ACTIVE,
    ]
    assert [shown.content and shown.content.text for shown in page.entries] == ["m2", None, "m0", None]
    assert (await use_cases.history.one(chat, BEN, 3)).state is ContentState.UNREADABLE
