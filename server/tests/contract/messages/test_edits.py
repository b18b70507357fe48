"""Edits, redactions and reactions on both engines."""

import asyncio
import random
from collections import Counter
from itertools import batched

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, code_of

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings.messages.edits import ChangeRequest
from tidings.messages.history import ContentState
from tidings.messages.model import EntryKind
from tidings.messages.sender import Content
from tidings.messages.store import DynamoEditStore


async def test_an_edit_changes_the_message_and_is_an_entry_without_content(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "frist")
    done = await use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="first"))
    shown = await use_cases.history.one(chat, BEN, sent.sequence)
    assert shown.content == Content(text="first")
    assert shown.entry.edited_at_ms is not None
    entry = await use_cases.reader.one(chat, done.sequence)
    assert entry is not None
    assert (entry.kind, entry.refers_to, entry.content) == (EntryKind.EDIT, sent.sequence, None)


async def test_only_its_sender_edits_a_message(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, BEN)
    edit = use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="x"))
    assert await code_of(edit) is Code.FORBIDDEN
    assert (
        await code_of(use_cases.change.edit(asked(chat, ANNA, 1), Content(text="x")))
        is Code.MESSAGE_NOT_FOUND
    )
    assert (
        await code_of(use_cases.change.edit(asked(chat, ANNA, 99), Content(text="x")))
        is Code.MESSAGE_NOT_FOUND
    )


async def test_a_repeated_send_is_compared_with_the_original_content_not_with_the_edit(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "one", key="k")
    await use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="two"))
    use_cases.open_process()
    again = await use_cases.send(chat, ANNA, "one", key="k")
    assert (again.sequence, again.is_repeat) == (sent.sequence, True)
    assert await code_of(use_cases.send(chat, ANNA, "two", key="k")) is Code.IDEMPOTENCY_CONFLICT


async def test_a_repeated_send_is_compared_with_the_original_content_after_a_redaction(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "one", key="k", after=None)
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    use_cases.open_process()
    assert (await use_cases.send(chat, ANNA, "one", key="k", after=None)).sequence == sent.sequence
    assert await code_of(use_cases.send(chat, ANNA, "two", key="k", after=None)) is Code.IDEMPOTENCY_CONFLICT


async def test_a_redaction_removes_the_content_and_keeps_the_entry(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, BEN, "regret")
    await use_cases.change.react(asked(chat, ANNA, sent.sequence), "+1")
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert (entry.content, entry.reaction_counts, entry.reaction_users) == (None, None, ())
    assert (await use_cases.history.one(chat, BEN, sent.sequence)).state is ContentState.REDACTED
    again = use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    assert await code_of(again) is Code.NO_CHANGE
    edit = use_cases.change.edit(asked(chat, BEN, sent.sequence), Content(text="back"))
    assert await code_of(edit) is Code.MESSAGE_NOT_FOUND


async def test_a_redaction_removes_ephemeral_content(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "for a moment", ttl_s=600)
    await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
    assert await use_cases.reader.ephemeral(chat, 0, 10) == {}


async def test_a_plain_member_redacts_only_their_own_messages(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, BEN)
    assert await code_of(use_cases.change.redact(asked(chat, CLEO, sent.sequence))) is Code.FORBIDDEN
    assert await code_of(use_cases.change.redact(asked(chat, DORA, sent.sequence))) is Code.MESSAGE_NOT_FOUND
    await use_cases.change.redact(asked(chat, BEN, sent.sequence))


async def test_a_reaction_counts_once_and_can_be_withdrawn(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, ANNA)
    for user in (ANNA, BEN, CLEO):
        await use_cases.change.react(asked(chat, user, sent.sequence), "+1")
    await use_cases.change.react(asked(chat, BEN, sent.sequence), "heart")
    assert await code_of(use_cases.change.react(asked(chat, BEN, sent.sequence), "+1")) is Code.NO_CHANGE
    await use_cases.change.react(asked(chat, CLEO, sent.sequence), "+1", is_added=False)
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert entry.reaction_counts == {"+1": 2, "heart": 1}
    assert entry.reaction_users == ("+1 anna", "+1 ben", "heart ben")


async def test_a_repeated_reaction_is_a_repeat_in_a_new_process_too(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA)
    question = asked(chat, BEN, sent.sequence, key="r", after=None)
    first = await use_cases.change.react(question, "+1")
    use_cases.open_process()
    again = await use_cases.change.react(question, "+1")
    assert (again.sequence, again.is_repeat) == (first.sequence, True)


async def test_concurrent_reactions_are_all_counted(use_cases: UseCaseEnv) -> None:
    users = [UserId(f"u{n}") for n in range(6)]
    chat = await use_cases.group(*users)
    sent = await use_cases.send(chat, ANNA)
    reacting = (use_cases.change.react(asked(chat, user, sent.sequence), "+1") for user in users)
    await asyncio.gather(*reacting)
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert entry.reaction_counts == {"+1": 6}


REACTORS = [UserId(f"user{n:02}") for n in range(25)]


async def _reacts(use_cases: UseCaseEnv, question: ChangeRequest, emoji: str, *, is_added: bool) -> bool:
    """Add or withdraw a reaction. Return False if there was nothing to change."""
    try:
        await use_cases.change.react(question, emoji, is_added=is_added)
    except TidingsError as error:
        if error.code is not Code.NO_CHANGE:
            raise
        return False
    return True


async def test_reaction_counts_stay_exact_with_more_users_than_a_row_names(use_cases: UseCaseEnv) -> None:
    """Every request changes exactly what a set of (user, emoji) would change, for named and unnamed users alike."""
    chat = await use_cases.group(*REACTORS)
    sent = await use_cases.send(chat, ANNA)
    expected: set[tuple[str, UserId]] = set()
    chance = random.Random(11)
    requests = [(user, "+1", True) for user in chance.sample(REACTORS, len(REACTORS))]
    requests += [
        (chance.choice(REACTORS), chance.choice(["+1", "#️⃣"]), chance.random() < 0.5) for _ in range(60)
    ]
    requests += [(user, "+1", False) for user in chance.sample(REACTORS, len(REACTORS))]
    for user, emoji, is_added in requests:
        is_change = ((emoji, user) in expected) != is_added
        question = asked(chat, user, sent.sequence)
        assert await _reacts(use_cases, question, emoji, is_added=is_added) == is_change
        expected ^= {(emoji, user)} if is_change else set()
        entry = await use_cases.reader.one(chat, sent.sequence)
        assert entry is not None
        assert entry.reaction_counts == Counter(emoji for emoji, _ in expected)
        assert set(entry.reaction_users) <= {f"{emoji} {user}" for emoji, user in expected}
        assert len(entry.reaction_users) <= 20
    assert not any(emoji == "+1" for emoji, _ in expected)


async def test_withdrawing_a_missing_reaction_changes_nothing(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN, *REACTORS)
    sent = await use_cases.send(chat, ANNA)
    for user in REACTORS:
        await use_cases.change.react(asked(chat, user, sent.sequence), "+1")
    for _ in range(3):
        assert not await _reacts(use_cases, asked(chat, BEN, sent.sequence), "+1", is_added=False)
    assert not await _reacts(use_cases, asked(chat, REACTORS[-1], sent.sequence), "+1", is_added=True)
    by_non_member = use_cases.change.react(asked(chat, DORA, sent.sequence), "+1", is_added=False)
    assert await code_of(by_non_member) is Code.MESSAGE_NOT_FOUND
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert entry.reaction_counts == {"+1": len(REACTORS)}


async def test_a_retry_of_an_unnamed_users_reaction_is_a_repeat(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(*REACTORS)
    sent = await use_cases.send(chat, ANNA)
    for user in REACTORS[:-1]:
        await use_cases.change.react(asked(chat, user, sent.sequence), "+1")
    for key, after in (("with-position", 1), ("without", None)):
        question = asked(chat, REACTORS[-1], sent.sequence, key=key, after=after)
        first = await use_cases.change.react(question, "+1", is_added=after is not None)
        use_cases.open_process()
        again = await use_cases.change.react(question, "+1", is_added=after is not None)
        assert (again.sequence, again.is_repeat) == (first.sequence, True)
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    assert entry.reaction_counts == {"+1": len(REACTORS) - 1}


async def test_concurrent_reactions_and_withdrawals_are_counted_exactly(use_cases: UseCaseEnv) -> None:
    """Two processes race for the row and for each user's item; each user ends with one reaction or none."""
    chat = await use_cases.group(*REACTORS)
    sent = await use_cases.send(chat, ANNA)
    here = use_cases.change
    use_cases.open_process()
    changes = use_cases.change

    async def toggles(user: UserId, times: int) -> None:
        for n in range(times):
            change = here if n % 2 else changes
            await change.react(asked(chat, user, sent.sequence), "+1", is_added=n % 2 == 0)

    for some in batched(REACTORS, 5):
        await asyncio.gather(*(toggles(user, 2 + n % 2) for n, user in enumerate(some)))
    entry = await use_cases.reader.one(chat, sent.sequence)
    assert entry is not None
    odd = [user for n, user in enumerate(REACTORS) if n % 5 % 2]
    assert entry.reaction_counts == {"+1": len(odd)}
    reactions = DynamoEditStore(use_cases.client)
    found = [user for user in REACTORS if await reactions.has_reaction(chat, sent.sequence, user, "+1")]
    assert found == odd
