"""Chat rows on both engines: the result of entries, in any order and any number of deliveries."""

import random

from fixtures.chat_list_env import ChatListEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, by

from tidings.delivery.chat_list import ChatListFilter
from tidings.delivery.model import ChatRow
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


async def test_a_batch_of_messages_costs_one_write_for_each_row(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    await lists.deliver()
    calls = use_cases.client.ledger["chat_list.raise_row"].calls
    for n in range(7):
        await use_cases.send(chat, ANNA, f"m{n}")
    await lists.hand(chat, lists.committed())
    assert use_cases.client.ledger["chat_list.raise_row"].calls - calls == 3
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
        await lists.hand(chat, entries[:count])
        entries = entries[count:]
    return chat


async def rows(lists: ChatListEnv, chat: ChatKey) -> list[ChatRow]:
    return [await lists.row(chat, user) for user in (ANNA, BEN, CLEO)]


async def test_rows_are_the_same_for_any_order_repetition_and_batching_of_entries(
    use_cases: UseCaseEnv,
) -> None:
    lists, chance = ChatListEnv(use_cases), random.Random(7)
    batches = [await a_turn(lists, chance, turn) for turn in range(6)]
    shapes = [[await shape(lists, chat, row) for row in await rows(lists, chat)] for chat in batches]
    assert all(each == shapes[0] for each in shapes)
    heads = [row.known.head for row in await rows(lists, batches[0])]
    assert [head and head.sequence for head in heads] == [15, 15, 15]
    assert (
        await lists.text(batches[0], ANNA)
        == await lists.text(batches[0], BEN, ChatListFilter.LEFT)
        == "seven"
    )


async def shape(lists: ChatListEnv, chat: ChatKey, row: ChatRow) -> object:
    """Return rows without times and sequences, which differ from chat to chat."""
    shown, joined = row.known.shown, row.known.joined
    assert shown is not None
    assert joined is not None
    keys = await lists.use_cases.user_keys.of(chat.tenant, shown.sender)
    words = shown.preview and keys.unseal_preview(chat, shown.sequence, shown.preview)
    return (
        row.known.head,
        shown.rank,
        shown.sender,
        words,
        row.known.own,
        joined[:2],
        row.known.removed,
    )


async def test_a_redaction_removes_the_text_from_every_row_including_former_members(
    use_cases: UseCaseEnv,
) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, BEN, "regret")
    await use_cases.manage.remove(chat, by(CLEO), CLEO)
    await lists.deliver()
    assert await lists.text(chat, CLEO, ChatListFilter.LEFT) == "regret"
    await use_cases.send(chat, ANNA, "newer")
    await use_cases.change.redact(asked(chat, BEN, sent.sequence))
    await lists.deliver()
    assert await lists.text(chat, CLEO, ChatListFilter.LEFT) == "(redacted)"
    assert await lists.text(chat, ANNA) == "newer"
    cleo = await lists.row(chat, CLEO)
    assert cleo.known.head is not None
    assert cleo.known.head.sequence == 3, "nothing after the leave is news for her"


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


async def test_a_redaction_processed_before_its_message_applies_to_former_members_too(
    use_cases: UseCaseEnv,
) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, ANNA, "regret")
    await use_cases.manage.remove(chat, by(CLEO), CLEO)
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    create, message, leave, redaction = lists.committed()
    await lists.hand(chat, [redaction])
    await lists.hand(chat, [create, message, leave])
    assert await lists.text(chat, CLEO, ChatListFilter.LEFT) == "(redacted)"
    assert await lists.text(chat, BEN) == "(redacted)"


async def test_an_edit_outside_a_members_interval_does_not_change_their_row(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "before")
    await use_cases.manage.remove(chat, by(BEN), BEN)
    await use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="after"))
    await lists.deliver()
    assert await lists.text(chat, BEN, ChatListFilter.LEFT) == "before"
    assert await lists.text(chat, ANNA) == "after"


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
    assert await lists.text(chat, BEN, ChatListFilter.LEFT) == "seen"
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.send(chat, ANNA, "back")
    await lists.deliver()
    line = await lists.listed(chat, BEN)
    assert (line.is_member, line.unread) == (True, 1)


async def test_a_row_reports_missed_entries_and_can_be_completed(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    chat = await use_cases.group(BEN)
    await lists.deliver()
    await use_cases.send(chat, BEN, "mine")
    await use_cases.manage.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, ANNA, "last")
    entries = lists.committed()
    missed = await lists.hand(chat, entries[-1:])
    assert missed == (1, 3)
    assert await lists.hand(chat, await use_cases.reader.between(chat, *missed)) is None
    assert await lists.unread(chat, BEN) == 1
    assert await lists.unread(chat, CLEO) == 1


async def test_a_large_chat_stays_large_and_is_written_once_per_entry(use_cases: UseCaseEnv) -> None:
    lists = ChatListEnv(use_cases)
    many = [UserId(f"u{n}") for n in range(120)]
    chat = await use_cases.group(*many[:80])
    old = await use_cases.send(chat, ANNA, "small yet")
    await lists.deliver()
    await use_cases.manage.add(chat, by(ANNA), many[80:])
    await lists.deliver()
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.large_since == 3
    assert (await lists.row(chat, many[0])).known.is_large
    assert (await lists.row(chat, many[-1])).known.is_large
    ledger = use_cases.client.ledger
    head = ledger["counters.raise"]
    assert (head.calls, head.write_units) == (1, 1), "the head is written last"
    before = ledger["chat_list.raise_row"].calls, ledger["memberships.list"].calls
    await use_cases.send(chat, many[5], "to all", after=3)
    await lists.deliver()
    assert ledger["chat_list.raise_row"].calls - before[0] == 1, "the sender's own row alone"
    assert ledger["memberships.list"].calls == before[1]
    assert (head.calls, head.write_units) == (2, 2)
    assert await lists.text(chat, many[-1]) == await lists.text(chat, ANNA) == "to all"
    assert [await lists.unread(chat, user) for user in (many[5], many[0], many[-1])] == [0, 2, 1]
    await use_cases.change.redact(asked(chat, ANNA, old.sequence, after=3))
    await lists.deliver()
    shown = (await lists.row(chat, many[0])).known.shown
    assert shown is not None
    assert (shown.sequence, shown.preview) == (old.sequence, None)
    await use_cases.manage.remove(chat, by(many[0]), many[0])
    await use_cases.manage.remove(chat, by(many[1]), many[1])
    await lists.deliver()
    assert not (await lists.listed(chat, many[0], ChatListFilter.LEFT)).is_member
    assert (await lists.listed(chat, ANNA)).head_sequence == 7
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await lists.deliver()
    assert (await lists.listed(chat, BEN)).last is None, "ben joined after these messages"
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert row.large_since == 3, "since the first time, for good"
    await use_cases.send(chat, ANNA, "welcome", after=8)
    await lists.deliver()
    assert await lists.text(chat, BEN) == "welcome"
    gone = await lists.listed(chat, many[0], ChatListFilter.LEFT)
    assert (gone.head_sequence, gone.last and gone.last.sequence) == (6, old.sequence)


async def test_an_unprocessed_growth_to_a_large_chat_is_found_with_the_next_entry(
    use_cases: UseCaseEnv,
) -> None:
    """The head does not exist, so the rows lack `is_large`: the entry that made the chat large is processed first."""
    lists = ChatListEnv(use_cases)
    many = [UserId(f"u{n}") for n in range(120)]
    chat = await use_cases.group(*many)
    sent = await use_cases.send(chat, ANNA, "hello, all", after=2)
    entries = await use_cases.entries(chat)
    missed = await lists.hand(chat, entries[-1:])
    assert missed == (1, sent.sequence - 1)
    below = await lists.hand(chat, await use_cases.reader.between(chat, *missed))
    assert below == (0, 1)
    assert await lists.hand(chat, await use_cases.reader.between(chat, *below)) is None
    for user in (many[0], many[-1]):
        assert (await lists.row(chat, user)).known.is_large
        assert await lists.unread(chat, user) == 1
