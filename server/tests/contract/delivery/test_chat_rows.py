"""Chat rows and heads on both engines: the result of entries, in any order and any number of deliveries."""

import random

from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, by

from tidings.delivery.chat_list import ChatListFilter, with_heads
from tidings.delivery.model import ChatRow, LogPosition
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.sender import Content
from tidings.schema.tables.limits import PREVIEW_BYTES


async def test_a_direct_message_is_in_both_rows_and_unread_for_the_recipient(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "hello")
    await lists.deliver()
    for user, other, unread in ((ANNA, BEN, 0), (BEN, ANNA, 1)):
        line = await lists.listed(chat, user)
        assert (line.unread, line.members, line.head_sequence) == (unread, (other,), 2)
        assert line.last is not None
        assert (line.last.text, line.last.sender, line.last.sequence) == ("hello", ANNA, 2)


async def test_a_preview_is_cut_between_characters(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "é" * 300)
    await lists.deliver()
    assert await lists.text(chat, BEN) == "é" * (PREVIEW_BYTES // 2)


async def test_a_direct_message_costs_two_write_units_for_two_rows(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await lists.deliver()
    raised, read = use_cases.client.ledger["chat_list.raise_row"], use_cases.client.ledger["memberships.list"]
    before = raised.write_units, read.read_units
    await use_cases.send(chat, ANNA, "x" * 300)
    await lists.deliver()
    assert raised.write_units - before[0] == 2
    assert read.read_units == before[1], "the two of a direct chat were known"


async def test_a_batch_of_group_messages_costs_one_head_and_the_senders_row(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await lists.deliver()
    row, head = use_cases.client.ledger["chat_list.raise_row"], use_cases.client.ledger["counters.raise"]
    before = row.write_units, head.write_units
    for n in range(7):
        await use_cases.send(chat, ANNA, f"m{n}")
    await lists.hand(chat, lists.committed())
    assert (row.write_units - before[0], head.write_units - before[1]) == (1, 1)
    assert await lists.text(chat, BEN) == "m6"
    assert await lists.unread(chat, BEN) == 7


async def create_long_history(use_cases: UseCaseEnv) -> ChatKey:
    """Everything that can happen to a row of a small chat."""
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "one")
    sent = await use_cases.send(chat, BEN, "two")
    await use_cases.change.edit(asked(chat, BEN, sent.sequence), Content(text="two, edited"))
    await use_cases.manage.remove(chat, by(CLEO), CLEO)
    await use_cases.change.redact(asked(chat, BEN, sent.sequence))
    await use_cases.send(chat, ANNA, "three")
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, CLEO, "four", after=8)
    gone = await use_cases.send(chat, ANNA, "five", ttl_s=60)
    await use_cases.change.react(asked(chat, BEN, gone.sequence), "+1")
    last = await use_cases.send(chat, BEN, "six")
    await use_cases.change.edit(asked(chat, BEN, last.sequence), Content(text="seven"))
    await use_cases.manage.rename(chat, by(ANNA), "them")
    await use_cases.manage.remove(chat, by(ANNA), BEN)
    return chat


async def a_turn(lists: ChatListEnv, chance: random.Random, turn: int) -> ChatKey:
    """Return the entries in order for the first turn; later in any order, some repeated, alone or in batches."""
    chat = await create_long_history(lists.use_cases)
    entries = lists.committed()
    if turn:
        entries += chance.sample(entries, 5)
        chance.shuffle(entries)
    while entries:
        count = 1 if turn % 2 else chance.randint(1, 4)
        await lists.process(chat, entries[:count])
        entries = entries[count:]
    return chat


async def rows(lists: ChatListEnv, chat: ChatKey) -> list[ChatRow]:
    return [await lists.shown(chat, user) for user in (ANNA, BEN, CLEO)]


async def test_rows_are_the_same_for_any_order_repetition_and_batching_of_entries(
    use_cases: UseCaseEnv,
) -> None:
    lists, chance = ChatListEnv(use_cases), random.Random(7)
    batches = [await a_turn(lists, chance, turn) for turn in range(6)]
    shapes = [[await shape(lists, chat, row) for row in await rows(lists, chat)] for chat in batches]
    assert all(each == shapes[0] for each in shapes)
    heads = [row.known.head for row in await rows(lists, batches[0])]
    assert [head and head.sequence for head in heads] == [15, 15, 15]
    assert await lists.text(batches[0], ANNA) == await lists.text(batches[0], CLEO) == "seven"
    assert (await lists.listed(batches[0], BEN, ChatListFilter.LEFT)).last is None


async def shape(lists: ChatListEnv, chat: ChatKey, row: ChatRow) -> object:
    """Return rows without times and sequences, which differ from chat to chat."""
    shown, joined = row.known.shown, row.known.joined
    assert joined is not None
    message: tuple[object, ...] | None = None
    if shown is not None:
        keys = await lists.use_cases.user_keys.of(chat.tenant, shown.sender)
        words = shown.preview and keys.unseal_preview(chat, shown.sequence, shown.preview)
        message = shown.rank, shown.sender, words
    return row.known.head, message, row.known.own, joined[:2], row.known.removed


async def test_a_redaction_removes_the_text_from_the_head(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, BEN, "regret")
    await lists.deliver()
    assert await lists.text(chat, CLEO) == "regret"
    await use_cases.change.redact(asked(chat, BEN, sent.sequence))
    await lists.deliver()
    assert await lists.text(chat, CLEO) == await lists.text(chat, ANNA) == "(redacted)"
    await use_cases.send(chat, ANNA, "newer")
    await lists.deliver()
    assert await lists.text(chat, CLEO) == "newer"


async def test_a_redaction_is_kept_when_its_message_is_written_again(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, ANNA, "regret")
    [create, message] = lists.committed()
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    [redaction] = lists.committed()
    assert await lists.hand(chat, [redaction]) == (0, 2)
    await lists.process(chat, [redaction])
    await lists.hand(chat, [create, message])
    assert await lists.text(chat, BEN) == "(redacted)"


async def test_a_message_with_reactions_is_edited_and_redacted_in_the_rows_too(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    sent = await use_cases.send(chat, ANNA, "helo")
    await use_cases.change.react(asked(chat, BEN, sent.sequence), "👍")
    await use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="hello"))
    await lists.deliver()
    assert await lists.text(chat, BEN) == "hello"
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    await lists.deliver()
    assert await lists.text(chat, BEN) == "(redacted)"


async def test_the_row_of_an_ephemeral_message_has_no_text_and_its_expiry(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, ANNA, "secret", ttl_s=60)
    await lists.deliver()
    shown = (await lists.row(chat, BEN)).known.shown
    assert shown is not None
    assert shown.preview is None
    assert shown.expires_at_s is not None
    assert await lists.text(chat, BEN) == "(ephemeral)"
    use_cases.clock.ahead_ms = 62_000
    assert await lists.text(chat, BEN) == "(expired)"
    assert await lists.unread(chat, BEN) == 1


async def test_the_row_of_a_former_member_ends_with_the_leave(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "seen")
    await use_cases.manage.remove(chat, by(BEN), BEN)
    await use_cases.send(chat, ANNA, "not seen")
    await lists.deliver()
    assert (await lists.page(BEN)).chats == ()
    line = await lists.listed(chat, BEN, ChatListFilter.LEFT)
    assert (line.is_member, line.head_sequence, line.unread) == (False, 3, 1)
    assert line.last is None, "the head shows a message from after the leave"
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.send(chat, ANNA, "back")
    await lists.deliver()
    line = await lists.listed(chat, BEN)
    assert (line.is_member, line.unread) == (True, 1)


async def test_a_row_that_was_read_before_the_leave_is_read_again(use_cases: UseCaseEnv) -> None:
    """The list reads the row, the worker writes the leave and a later head, and the list reads that head."""
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "seen")
    await lists.deliver()
    stale = await lists.row(chat, BEN)
    await use_cases.manage.remove(chat, by(BEN), BEN)
    await use_cases.send(chat, ANNA, "not seen")
    await lists.deliver()
    [row] = await with_heads(lists.store, use_cases.tenant, BEN, [stale])
    assert (row.known.removed, row.known.shown, row.known.head) == (3, None, LogPosition(3, 1))
    assert await lists.list.confirmed(use_cases.tenant, BEN, [stale]) == []


async def test_a_head_is_not_raised_over_a_gap(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await lists.deliver()
    await use_cases.send(chat, BEN, "mine")
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, ANNA, "last")
    entries = lists.committed()
    assert await lists.unread(chat, BEN) == 0
    missed = await lists.hand(chat, entries[-1:])
    assert missed == (1, 3)
    assert (await lists.listed(chat, BEN)).head_sequence == 1, "the head is not written"
    assert await lists.hand(chat, await use_cases.reader.between(chat, *missed)) is None
    assert await lists.hand(chat, entries[-1:]) is None
    assert await lists.unread(chat, BEN) == 1
    assert await lists.unread(chat, CLEO) == 1


async def test_a_large_chat_stays_large_and_is_written_once_per_entry(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    many = [UserId(f"u{n}") for n in range(120)]
    chat = await use_cases.group(*many[:80])
    await use_cases.send(chat, ANNA, "small yet")
    await lists.deliver()
    assert not (await lists.listed(chat, ANNA)).is_large
    await use_cases.manage.add(chat, by(ANNA), many[80:])
    await lists.deliver()
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.large_since == 3
    assert all([(await lists.listed(chat, user)).is_large for user in (many[0], many[-1])])
    ledger = use_cases.client.ledger
    head = ledger["counters.raise"]
    before = ledger["chat_list.raise_row"].calls, ledger["memberships.list"].calls, head.write_units
    await use_cases.send(chat, many[5], "to all", after=3)
    await lists.deliver()
    assert ledger["chat_list.raise_row"].calls - before[0] == 1, "the sender's own row alone"
    assert ledger["memberships.list"].calls == before[1]
    assert head.write_units - before[2] == 1
    assert await lists.text(chat, many[-1]) == await lists.text(chat, ANNA) == "to all"
    assert [await lists.unread(chat, user) for user in (many[5], many[0], many[-1])] == [0, 2, 1]
    await use_cases.manage.remove(chat, by(many[0]), many[0])
    await use_cases.manage.remove(chat, by(many[1]), many[1])
    await lists.deliver()
    assert not (await lists.listed(chat, many[0], ChatListFilter.LEFT)).is_member
    assert (await lists.listed(chat, ANNA)).head_sequence == 6
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await lists.deliver()
    assert (await lists.listed(chat, BEN)).last is None, "ben joined after these messages"
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.large_since == 3, "since the first time, for good"
    await use_cases.send(chat, ANNA, "welcome", after=7)
    await lists.deliver()
    assert await lists.text(chat, BEN) == "welcome"
    gone = await lists.listed(chat, many[0], ChatListFilter.LEFT)
    assert (gone.head_sequence, gone.last) == (5, None)
