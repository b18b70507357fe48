"""Erase a user from the logs of their chats, on both engines."""

import asyncio

import pytest
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, by

from tidings.kernel.ids import ChatKey, ErasedUser, UserId
from tidings.messages.history import ContentState
from tidings.messages.model import EntryKind
from tidings.messages.ports import ErasedEntries
from tidings.messages.sender import Content
from tidings.messages.store import DynamoLogEraser
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.patterns import erasure as erase_patterns
from tidings.schema.tables.patterns import messages as patterns

NOTHING = ErasedEntries(0, has_more=False, named_at=0, read=0, entries=0, messages=0, reactions=0)
GONE = ErasedUser(BEN, UserId("erased-abcdefghijklmnopqrstuvwxyz"))


async def erase(env: UseCaseEnv, chat: ChatKey, page_entries: int = 200) -> ErasedEntries:
    """Erase BEN from all pages of a log, and return the sum of the counts."""
    eraser, after, total = DynamoLogEraser(env.client, page_entries), 0, NOTHING
    while True:
        page = await eraser.erase(chat, GONE, after)
        counts = (a + b for a, b in zip(total[3:], page[3:], strict=True))
        named_at = max(total.named_at, page.named_at)
        total, after = ErasedEntries(page.up_to, page.has_more, named_at, *counts), page.up_to
        if not page.has_more:
            return total


async def talk(env: UseCaseEnv) -> ChatKey:
    """A chat in which BEN has left every kind of trace: own entries, and entries and reactions that name them."""
    chat = await env.group(BEN, CLEO)
    first = await env.send(chat, ANNA, "from anna")
    own = await env.send(chat, BEN, "secret of ben", after=None)
    await env.send(chat, BEN, "for an hour", ttl_s=3600)
    await env.change.edit(asked(chat, BEN, own.sequence), Content(text="edited secret of ben"))
    await env.change.react(asked(chat, BEN, first.sequence), "👍")
    await env.change.react(asked(chat, CLEO, first.sequence), "👍")
    await env.change.react(asked(chat, CLEO, own.sequence), "🎉")
    await env.moderation.mute(chat, by(ANNA), BEN, reason="wrote about their illness")
    await env.manage.remove(chat, by(BEN), BEN)
    return chat


async def stored_bytes(env: UseCaseEnv, chat: ChatKey) -> str:
    """Return everything that the log, its ephemeral contents and its reactions have stored."""
    place, found = f"{chat.tenant}#{chat.chat}", []
    partitions = [place, f"{place}#ephemeral", *(f"{place}#reactions#{n}" for n in range(1, 20))]
    for partition in partitions:
        query = Query(condition="chat_id = :c", values={":c": partition})
        async for page in env.client.pages(patterns.LIST_REACTIONS, query):
            found += page.items
    return "\n".join(repr(sorted(item.items())) for item in found)


async def test_no_byte_of_the_log_names_the_user_and_its_shape_is_unchanged(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    before = await use_cases.entries(chat)
    assert "'ben'" in await stored_bytes(use_cases, chat)
    done = await erase(use_cases, chat)
    after = await use_cases.reader.between(chat, 0, 1_000)
    stored = await stored_bytes(use_cases, chat)
    assert [line for line in stored.splitlines() if "ben'" in line] == []
    assert "illness" not in stored
    assert "#ephemeral" not in stored
    assert [(e.sequence, e.ordinal, e.kind) for e in after] == [
        (e.sequence, e.ordinal, e.kind) for e in before
    ]
    own = [e.sequence for e in before if e.sender == BEN]
    assert [e.sequence for e in after if e.sender == GONE.pseudonym] == own
    assert all(e.content is None and e.fingerprint == b"\x00" for e in after if e.sequence in own)
    assert {e.fingerprint for e in after if GONE.pseudonym in e.users} == {b"\x00"}
    assert done == ErasedEntries(
        len(before),
        has_more=False,
        named_at=len(before),
        read=len(before),
        entries=7,
        messages=2,
        reactions=1,
    )


async def test_other_users_see_erased_messages_and_the_same_reactions(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    await erase(use_cases, chat)
    page = await use_cases.history.before(chat, CLEO, None, 100)
    messages = [shown for shown in reversed(page.entries) if shown.entry.kind is EntryKind.MESSAGE]
    states = [(shown.state, shown.content.text if shown.content else "") for shown in messages]
    assert states == [
        (ContentState.ACTIVE, "from anna"),
        (ContentState.ERASED, ""),
        (ContentState.ERASED, ""),
    ]
    assert messages[0].entry.reaction_counts == {"👍": 2}
    assert messages[0].entry.reaction_users == (f"👍 {GONE.pseudonym}", "👍 cleo")
    assert messages[1].entry.reaction_counts == {"🎉": 1}


async def test_a_repeated_page_changes_nothing_and_counts_the_same(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    first = await erase(use_cases, chat, page_entries=3)
    stored = await stored_bytes(use_cases, chat)
    assert await erase(use_cases, chat, page_entries=4) == first
    assert await stored_bytes(use_cases, chat) == stored


async def test_two_workers_that_erase_at_the_same_time_do_no_harm(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    one, two = await asyncio.gather(erase(use_cases, chat, 2), erase(use_cases, chat, 3))
    assert one == two
    assert "ben'" not in await stored_bytes(use_cases, chat)


async def test_reactions_of_others_during_the_erasure_are_counted(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    message = (await use_cases.send(chat, ANNA)).sequence
    for emoji in "😀😁😂😃":
        await use_cases.change.react(asked(chat, BEN, message), emoji)

    async def react_too() -> None:
        for emoji in "😀😁😂😃":
            await use_cases.change.react(asked(chat, CLEO, message), emoji)

    await asyncio.gather(react_too(), erase(use_cases, chat))
    (shown,) = [e for e in await use_cases.reader.between(chat, 0, 1_000) if e.sequence == message]
    assert shown.reaction_counts == dict.fromkeys("😀😁😂😃", 2)
    assert sorted(shown.reaction_users) == sorted(
        f"{emoji} {user}" for emoji in "😀😁😂😃" for user in (CLEO, GONE.pseudonym)
    )
    await use_cases.change.react(asked(chat, CLEO, message), "😀", is_added=False)


async def test_the_chat_goes_on_after_the_erasure(use_cases: UseCaseEnv) -> None:
    chat = await talk(use_cases)
    head = len(await use_cases.entries(chat))
    await erase(use_cases, chat)
    assert (await use_cases.send(chat, CLEO, after=head)).sequence == head + 1
    use_cases.open_process()
    assert (await use_cases.send(chat, ANNA, after=head)).sequence == head + 2
    redacted = next(e for e in await use_cases.entries(chat) if e.sender == GONE.pseudonym)
    await use_cases.change.redact(asked(chat, ANNA, redacted.sequence))


async def test_keys_of_the_user_are_deleted_and_those_of_others_are_not(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, UserId("ben2"))
    await use_cases.send(chat, BEN, key="k", after=None)
    kept = await use_cases.send(chat, UserId("ben2"), key="k", after=None)
    eraser = DynamoLogEraser(use_cases.client)
    assert await eraser.delete_keys(chat, BEN) == 1
    assert await eraser.delete_keys(chat, BEN) == 0
    assert (await use_cases.send(chat, UserId("ben2"), key="k", after=None)).sequence == kept.sequence


async def test_an_entry_costs_one_write_unit(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    for n in range(20):
        await use_cases.send(chat, BEN if n % 2 else ANNA, "x" * 200)
    await erase(use_cases, chat)
    written = sum(
        c.value
        for c in use_cases.client.ledger
        if c.pattern == erase_patterns.ERASE.name and c.name == "write_units"
    )
    assert written == pytest.approx(11)  # ten messages, and the entry that created the group
