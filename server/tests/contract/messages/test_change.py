"""Edits, redactions and reactions on both engines."""

import asyncio
import random
from collections import Counter
from itertools import batched

from fixtures.use_cases import ANNA, BEN, CLEO, DORA, RunUseCases, UseCaseEnv, asked, code_of

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings.messages.edits import ChangeRequest
from tidings.messages.history import ContentState
from tidings.messages.model import EntryKind
from tidings.messages.sender import Content
from tidings.messages.store import DynamoEditStore


def test_an_edit_changes_the_message_and_is_an_entry_without_content(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, ANNA, "frist")
        done = await stage.change.edit(asked(chat, ANNA, sent.sequence), Content(text="first"))
        shown = await stage.history.one(chat, BEN, sent.sequence)
        assert shown.content == Content(text="first")
        assert shown.entry.edited_at_ms is not None
        entry = await stage.reader.one(chat, done.sequence)
        assert entry is not None
        assert (entry.kind, entry.refers_to, entry.content) == (EntryKind.EDIT, sent.sequence, None)

    play(scene)


def test_only_its_sender_edits_a_message(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, BEN)
        edit = stage.change.edit(asked(chat, ANNA, sent.sequence), Content(text="x"))
        assert await code_of(edit) is Code.FORBIDDEN
        assert (
            await code_of(stage.change.edit(asked(chat, ANNA, 1), Content(text="x")))
            is Code.MESSAGE_NOT_FOUND
        )
        assert (
            await code_of(stage.change.edit(asked(chat, ANNA, 99), Content(text="x")))
            is Code.MESSAGE_NOT_FOUND
        )

    play(scene)


def test_a_repeat_of_a_send_is_held_against_what_was_sent_not_against_the_edit(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, ANNA, "one", key="k")
        await stage.change.edit(asked(chat, ANNA, sent.sequence), Content(text="two"))
        stage.open_process()
        again = await stage.send(chat, ANNA, "one", key="k")
        assert (again.sequence, again.is_repeat) == (sent.sequence, True)
        assert await code_of(stage.send(chat, ANNA, "two", key="k")) is Code.IDEMPOTENCY_CONFLICT

    play(scene)


def test_the_same_holds_after_a_redaction(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, ANNA, "one", key="k", after=None)
        await stage.change.redact(asked(chat, ANNA, sent.sequence))
        stage.open_process()
        assert (await stage.send(chat, ANNA, "one", key="k", after=None)).sequence == sent.sequence
        assert await code_of(stage.send(chat, ANNA, "two", key="k", after=None)) is Code.IDEMPOTENCY_CONFLICT

    play(scene)


def test_a_redaction_leaves_nothing_but_the_entry(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, BEN, "regret")
        await stage.change.react(asked(chat, ANNA, sent.sequence), "+1")
        await stage.change.redact(asked(chat, ANNA, sent.sequence))
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        assert (entry.content, entry.reaction_counts, entry.reaction_users) == (None, None, ())
        assert (await stage.history.one(chat, BEN, sent.sequence)).state is ContentState.REDACTED
        again = stage.change.redact(asked(chat, ANNA, sent.sequence))
        assert await code_of(again) is Code.NO_CHANGE
        edit = stage.change.edit(asked(chat, BEN, sent.sequence), Content(text="back"))
        assert await code_of(edit) is Code.MESSAGE_NOT_FOUND

    play(scene)


def test_a_redaction_takes_ephemeral_content_with_it(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, ANNA, "for a moment", ttl_s=600)
        await stage.change.redact(asked(chat, ANNA, sent.sequence))
        assert await stage.reader.ephemeral(chat, 0, 10) == {}

    play(scene)


def test_a_plain_member_redacts_his_own_and_not_others(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, CLEO)
        sent = await stage.send(chat, BEN)
        assert await code_of(stage.change.redact(asked(chat, CLEO, sent.sequence))) is Code.FORBIDDEN
        assert await code_of(stage.change.redact(asked(chat, DORA, sent.sequence))) is Code.MESSAGE_NOT_FOUND
        await stage.change.redact(asked(chat, BEN, sent.sequence))

    play(scene)


def test_reactions_are_counted_once_each_and_taken_back(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, CLEO)
        sent = await stage.send(chat, ANNA)
        for user in (ANNA, BEN, CLEO):
            await stage.change.react(asked(chat, user, sent.sequence), "+1")
        await stage.change.react(asked(chat, BEN, sent.sequence), "heart")
        assert await code_of(stage.change.react(asked(chat, BEN, sent.sequence), "+1")) is Code.NO_CHANGE
        await stage.change.react(asked(chat, CLEO, sent.sequence), "+1", is_added=False)
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        assert entry.reaction_counts == {"+1": 2, "heart": 1}
        assert entry.reaction_users == ("+1 anna", "+1 ben", "heart ben")

    play(scene)


def test_a_repeated_reaction_is_a_repeat_also_for_a_process_that_knows_nothing(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN)
        sent = await stage.send(chat, ANNA)
        question = asked(chat, BEN, sent.sequence, key="r", after=None)
        first = await stage.change.react(question, "+1")
        stage.open_process()
        again = await stage.change.react(question, "+1")
        assert (again.sequence, again.is_repeat) == (first.sequence, True)

    play(scene)


def test_reactions_at_once_are_all_counted(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        users = [UserId(f"u{n}") for n in range(6)]
        chat = await stage.group(*users)
        sent = await stage.send(chat, ANNA)
        reacting = (stage.change.react(asked(chat, user, sent.sequence), "+1") for user in users)
        await asyncio.gather(*reacting)
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        assert entry.reaction_counts == {"+1": 6}

    play(scene)


REACTORS = [UserId(f"user{n:02}") for n in range(25)]


async def _reacts(stage: UseCaseEnv, question: ChangeRequest, emoji: str, *, is_added: bool) -> bool:
    """React, or withdraw; False if there was nothing to change."""
    try:
        await stage.change.react(question, emoji, is_added=is_added)
    except TidingsError as error:
        if error.code is not Code.NO_CHANGE:
            raise
        return False
    return True


def test_counts_stay_exact_with_more_reactors_than_a_row_names(play: RunUseCases) -> None:
    """Every request changes exactly what a set of (user, emoji) would change, for named and unnamed users alike."""

    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(*REACTORS)
        sent = await stage.send(chat, ANNA)
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
            assert await _reacts(stage, question, emoji, is_added=is_added) == is_change
            expected ^= {(emoji, user)} if is_change else set()
            entry = await stage.reader.one(chat, sent.sequence)
            assert entry is not None
            assert entry.reaction_counts == Counter(emoji for emoji, _ in expected)
            assert set(entry.reaction_users) <= {f"{emoji} {user}" for emoji, user in expected}
            assert len(entry.reaction_users) <= 20
        assert not any(emoji == "+1" for emoji, _ in expected)

    play(scene)


def test_a_withdrawal_of_what_was_never_given_changes_nothing_however_many_reacted(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(BEN, *REACTORS)
        sent = await stage.send(chat, ANNA)
        for user in REACTORS:
            await stage.change.react(asked(chat, user, sent.sequence), "+1")
        for _ in range(3):
            assert not await _reacts(stage, asked(chat, BEN, sent.sequence), "+1", is_added=False)
        assert not await _reacts(stage, asked(chat, REACTORS[-1], sent.sequence), "+1", is_added=True)
        stranger = stage.change.react(asked(chat, DORA, sent.sequence), "+1", is_added=False)
        assert await code_of(stranger) is Code.MESSAGE_NOT_FOUND
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        assert entry.reaction_counts == {"+1": len(REACTORS)}

    play(scene)


def test_a_retry_of_an_unnamed_users_reaction_is_a_repeat(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(*REACTORS)
        sent = await stage.send(chat, ANNA)
        for user in REACTORS[:-1]:
            await stage.change.react(asked(chat, user, sent.sequence), "+1")
        for key, after in (("with-position", 1), ("without", None)):
            question = asked(chat, REACTORS[-1], sent.sequence, key=key, after=after)
            first = await stage.change.react(question, "+1", is_added=after is not None)
            stage.open_process()
            again = await stage.change.react(question, "+1", is_added=after is not None)
            assert (again.sequence, again.is_repeat) == (first.sequence, True)
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        assert entry.reaction_counts == {"+1": len(REACTORS) - 1}

    play(scene)


def test_many_users_toggling_at_once_are_counted_exactly(play: RunUseCases) -> None:
    """Two processes race for the row and for each user's item; each user ends with one reaction or none."""

    async def scene(stage: UseCaseEnv) -> None:
        chat = await stage.group(*REACTORS)
        sent = await stage.send(chat, ANNA)
        here = stage.change
        stage.open_process()
        there = stage.change

        async def toggles(user: UserId, times: int) -> None:
            for n in range(times):
                change = here if n % 2 else there
                await change.react(asked(chat, user, sent.sequence), "+1", is_added=n % 2 == 0)

        for some in batched(REACTORS, 5):
            await asyncio.gather(*(toggles(user, 2 + n % 2) for n, user in enumerate(some)))
        entry = await stage.reader.one(chat, sent.sequence)
        assert entry is not None
        odd = [user for n, user in enumerate(REACTORS) if n % 5 % 2]
        assert entry.reaction_counts == {"+1": len(odd)}
        reactions = DynamoEditStore(stage.client)
        found = [user for user in REACTORS if await reactions.has_reaction(chat, sent.sequence, user, "+1")]
        assert found == odd

    play(scene)
