"""Freezes, slow mode, mutes and bans on both engines, through the use cases and the log."""

import asyncio

import pytest
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, by, code_of

from tidings.chats.member_jobs import MemberChunkWorker
from tidings.chats.model import JoinRule, Role
from tidings.chats.moderation import RulesChange
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.model import EntryKind
from tidings.messages.sender import Content
from tidings.schema.tables.patterns import chats as patterns
from tidings.schema.tables.patterns import messages as log_patterns

FROZEN, THAWED = RulesChange(is_frozen=True), RulesChange(is_frozen=False)
SLOW = RulesChange(slow_mode_s=30)
HOUR_MS = 3_600_000


def units(env: UseCaseEnv) -> dict[str, float]:
    return {
        f"{count.pattern} {count.name}": count.value
        for count in env.client.ledger
        if count.value and count.name in {"calls", "read_units", "write_units"}
    }


async def spent(env: UseCaseEnv, chat: ChatKey, user: UserId, *, after: int) -> dict[str, float]:
    before = units(env)
    await env.send(chat, user, after=after)
    return {
        name: value - before.get(name, 0) for name, value in units(env).items() if value != before.get(name)
    }


async def test_in_a_frozen_chat_only_admins_send_edit_and_react(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.manage.change_role(chat, by(ANNA), CLEO, Role.ADMIN)
    said = await use_cases.send(chat, BEN)
    await use_cases.moderation.set_rules(chat, by(CLEO), FROZEN)
    assert await code_of(use_cases.send(chat, BEN, after=4)) is Code.CHAT_FROZEN
    assert await code_of(use_cases.send(chat, BEN, after=None)) is Code.CHAT_FROZEN
    edit = asked(chat, BEN, said.sequence)
    assert await code_of(use_cases.change.edit(edit, Content(text="new"))) is Code.CHAT_FROZEN
    assert await code_of(use_cases.change.react(asked(chat, BEN, said.sequence), "👍")) is Code.CHAT_FROZEN
    await use_cases.send(chat, ANNA, after=4)
    await use_cases.send(chat, CLEO, after=4)
    use_cases.open_process()
    assert await code_of(use_cases.send(chat, BEN, after=6)) is Code.CHAT_FROZEN
    await use_cases.change.redact(asked(chat, BEN, said.sequence))


async def test_a_message_from_before_the_end_of_a_freeze_stays_refused(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), FROZEN)
    assert await code_of(use_cases.send(chat, BEN, key="k", after=2)) is Code.CHAT_FROZEN
    await use_cases.moderation.set_rules(chat, by(ANNA), THAWED)
    assert await code_of(use_cases.send(chat, BEN, key="k", after=2)) is Code.CHAT_FROZEN
    await use_cases.send(chat, BEN, after=3)


async def test_only_admins_change_the_rules(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    assert await code_of(use_cases.moderation.set_rules(chat, by(BEN), FROZEN)) is Code.FORBIDDEN
    assert await code_of(use_cases.moderation.set_rules(chat, by(DORA), FROZEN)) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.moderation.mute(chat, by(BEN), ANNA)) is Code.FORBIDDEN
    assert await code_of(use_cases.moderation.ban(chat, by(DORA), BEN)) is Code.CHAT_NOT_FOUND
    direct = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
    assert await code_of(use_cases.moderation.set_rules(direct, by(ANNA), FROZEN)) is Code.FORBIDDEN


async def test_a_freeze_in_another_process_refuses_a_sender_with_an_outdated_view(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, BEN)
    stale = use_cases.sender
    use_cases.open_process()
    await use_cases.moderation.set_rules(chat, by(ANNA), FROZEN)
    late = stale.send(chat, BEN, ClientKey("late"), Content(text="late"), after=1)
    assert await code_of(late) is Code.CHAT_FROZEN
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.MESSAGE, EntryKind.RULES]


async def test_messages_that_race_with_a_freeze_commit_before_it_or_not_at_all(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, BEN)
    other = use_cases.sender
    use_cases.open_process()

    async def send(number: int) -> int | Code:
        try:
            return (await other.send(chat, BEN, ClientKey(f"m{number}"), Content(text="x"), after=1)).sequence
        except TidingsError as error:
            return error.code

    freeze = use_cases.moderation.set_rules(chat, by(ANNA), FROZEN)
    *sent, _ = await asyncio.gather(*(send(n) for n in range(6)), freeze)
    entries = await use_cases.entries(chat)
    frozen_at = next(e.sequence for e in entries if e.kind is EntryKind.RULES)
    assert [e.sequence for e in entries] == list(range(1, len(entries) + 1))
    assert all(e.kind is not EntryKind.MESSAGE for e in entries if e.sequence > frozen_at)
    assert {s for s in sent if s is not Code.CHAT_FROZEN} == {
        e.sequence for e in entries[2:] if e.sequence < frozen_at
    }


async def test_slow_mode_delays_a_member_in_every_process(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.moderation.set_rules(chat, by(ANNA), SLOW)
    first = await use_cases.send(chat, BEN, key="one", after=None)
    with pytest.raises(TidingsError) as caught:
        await use_cases.send(chat, BEN, after=3)
    assert caught.value.code is Code.SLOW_MODE
    assert caught.value.retryable
    wait_ms = caught.value.details["retry_after_ms"]
    assert isinstance(wait_ms, int)
    assert 0 < wait_ms <= 30_000
    use_cases.open_process()
    assert await code_of(use_cases.send(chat, BEN, after=3)) is Code.SLOW_MODE
    assert await code_of(use_cases.send(chat, BEN, key="two", after=None)) is Code.SLOW_MODE
    await use_cases.send(chat, CLEO, after=3)
    use_cases.open_process()
    assert (await use_cases.send(chat, BEN, key="one", after=None)).sequence == first.sequence
    await use_cases.send(chat, ANNA, after=3)
    await use_cases.send(chat, ANNA, after=3)
    use_cases.clock.ahead_ms += 31_000
    assert not (await use_cases.send(chat, BEN, key="two", after=None)).is_repeat


async def test_two_devices_of_a_member_cannot_pass_slow_mode_together(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), SLOW)
    senders = []
    for _ in range(3):
        use_cases.open_process()
        senders.append(use_cases.sender)

    async def send(number: int) -> Code | None:
        try:
            await senders[number % 3].send(chat, BEN, ClientKey(f"m{number}"), Content(text="x"), after=2)
        except TidingsError as error:
            return error.code
        return None

    outcomes = await asyncio.gather(*map(send, range(6)))
    assert sorted(outcomes, key=str) == [None, *[Code.SLOW_MODE] * 5]


async def test_a_muted_member_reads_and_may_not_send_until_the_mute_ends(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    until_ms = use_cases.clock.now_ms() + HOUR_MS
    await use_cases.moderation.mute(chat, by(ANNA), BEN, until_ms=until_ms, reason="rude")
    assert await code_of(use_cases.send(chat, BEN, after=2)) is Code.MUTED
    entry = await use_cases.reader.one(chat, 2)
    assert entry is not None
    assert (entry.kind, entry.users, entry.role) == (EntryKind.MUTE, (BEN,), "mute")
    assert (entry.until_ms, entry.reason) == (until_ms, "rude")
    use_cases.clock.ahead_ms += HOUR_MS + 1
    await use_cases.send(chat, BEN, after=2)


async def test_unmute_ends_a_mute_and_keeps_earlier_refusals(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.mute(chat, by(ANNA), BEN)
    assert await code_of(use_cases.send(chat, BEN, key="k", after=2)) is Code.MUTED
    await use_cases.moderation.unmute(chat, by(ANNA), BEN)
    await use_cases.moderation.unmute(chat, by(ANNA), BEN)
    assert await code_of(use_cases.send(chat, BEN, key="k", after=2)) is Code.MUTED
    await use_cases.send(chat, BEN, after=3)
    assert (await use_cases.kinds(chat)).count(EntryKind.MUTE) == 2


async def test_a_ban_removes_the_member_and_refuses_additions_until_it_ends(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    until_ms = use_cases.clock.now_ms() + HOUR_MS
    await use_cases.moderation.ban(chat, by(ANNA), BEN, until_ms=until_ms, reason="spam")
    entry = await use_cases.reader.one(chat, 2)
    assert entry is not None
    assert (entry.kind, entry.role, entry.users) == (EntryKind.LEAVE, "ban", (BEN,))
    assert (entry.until_ms, entry.reason, entry.member_count) == (until_ms, "spam", 2)
    assert await code_of(use_cases.send(chat, BEN, after=2)) is Code.NOT_A_MEMBER
    assert await code_of(use_cases.manage.add(chat, by(ANNA), [BEN, DORA])) is Code.BANNED
    use_cases.clock.ahead_ms += HOUR_MS + 1
    await use_cases.manage.add(chat, by(ANNA), [BEN])
    await use_cases.send(chat, BEN, after=3)


async def test_the_members_job_skips_a_banned_user(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.ban(chat, by(ANNA), BEN)
    job = Job(
        tenant=use_cases.tenant,
        id=JobId("job"),
        kind=JobKind.ADD_MEMBERS,
        source=JobId("job"),
        total=2,
        created_ms=1,
        chat=chat.chat,
        user=ANNA,
    )
    assert await MemberChunkWorker(use_cases.commands).add(job, 0, [BEN, CLEO]) == [BEN]
    row = await use_cases.rows.membership(chat, CLEO)
    assert row is not None
    assert row.is_member


async def test_a_ban_of_a_stranger_refuses_them_and_hides_the_chat(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.ban(chat, by(ANNA), DORA)
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.BAN]
    assert await code_of(use_cases.send(chat, DORA)) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.manage.rename(chat, by(DORA), "x")) is Code.CHAT_NOT_FOUND
    assert await code_of(use_cases.manage.add(chat, by(ANNA), [DORA])) is Code.BANNED
    bans = await use_cases.moderation.bans(chat, by(ANNA), None, 50)
    assert [row.user for row in bans.items] == [DORA]
    await use_cases.moderation.unban(chat, by(ANNA), DORA)
    await use_cases.moderation.unban(chat, by(ANNA), DORA)
    assert (await use_cases.moderation.bans(chat, by(ANNA), None, 50)).items == ()
    await use_cases.manage.add(chat, by(ANNA), [DORA])
    await use_cases.send(chat, DORA, after=4)


async def test_an_addition_that_races_with_a_ban_fails(use_cases: UseCaseEnv) -> None:
    """The ban commits between the read of the rows and the commit of the addition."""
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.manage.remove(chat, by(BEN), BEN)
    add, append = use_cases.commands, use_cases.appends.append

    async def ban_first(*given: object, **more: object) -> object:
        use_cases.appends.append = append  # type: ignore[method-assign]
        await use_cases.moderation.ban(chat, by(ANNA, "ban"), BEN)
        return await append(*given, **more)  # type: ignore[arg-type]

    use_cases.appends.append = ban_first  # type: ignore[method-assign, assignment]
    assert await code_of(add.add(chat, by(ANNA), [BEN])) is Code.BANNED
    row = await use_cases.rows.membership(chat, BEN)
    assert row is not None
    assert not row.is_member


async def test_admins_are_restricted_by_the_owner_alone(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN, CLEO)
    for user in (BEN, CLEO):
        await use_cases.manage.change_role(chat, by(ANNA), user, Role.ADMIN)
    assert await code_of(use_cases.moderation.mute(chat, by(BEN), CLEO)) is Code.FORBIDDEN
    assert await code_of(use_cases.moderation.ban(chat, by(BEN), CLEO)) is Code.FORBIDDEN
    assert await code_of(use_cases.moderation.ban(chat, by(BEN), ANNA)) is Code.FORBIDDEN
    await use_cases.moderation.mute(chat, by(ANNA), CLEO)
    assert await code_of(use_cases.send(chat, CLEO, after=4)) is Code.MUTED
    await use_cases.moderation.ban(chat, by(ANNA), CLEO)


async def test_a_send_costs_the_same_with_a_freeze_and_more_only_with_slow_mode(
    use_cases: UseCaseEnv,
) -> None:
    chat = await use_cases.group(BEN)
    for user in (ANNA, BEN):
        await use_cases.send(chat, user)
    name = log_patterns.APPEND.name
    plain = {f"{name} calls": 1, f"{name} write_units": 1}
    assert await spent(use_cases, chat, BEN, after=3) == plain
    await use_cases.moderation.set_rules(chat, by(ANNA), FROZEN)
    assert await spent(use_cases, chat, ANNA, after=5) == plain
    await use_cases.moderation.set_rules(chat, by(ANNA), RulesChange(is_frozen=False, slow_mode_s=5))
    await use_cases.send(chat, BEN, after=7)
    use_cases.clock.ahead_ms += 6_000
    paced, read = log_patterns.APPEND_PACED.name, patterns.CHECK_MEMBER.name
    assert await spent(use_cases, chat, BEN, after=8) == {
        f"{paced} calls": 1,
        f"{paced} write_units": 4,
        f"{read} calls": 1,
        f"{read} read_units": 1,
    }


async def test_rules_are_idempotent_and_keep_what_they_do_not_name(use_cases: UseCaseEnv) -> None:
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), SLOW)
    await use_cases.moderation.set_rules(chat, by(ANNA), SLOW)
    await use_cases.moderation.set_rules(chat, by(ANNA), RulesChange(join_rule=JoinRule.OPEN))
    assert await use_cases.kinds(chat) == [EntryKind.CREATE, EntryKind.RULES, EntryKind.RULES]
    row = await use_cases.rows.chat(chat)
    assert row is not None
    assert (row.slow_mode_s, row.is_frozen, row.join_rule) == (30, False, JoinRule.OPEN)
    newest = await use_cases.log.newest(chat)
    assert newest is not None
    assert newest.rules is not None
    assert newest.rules.slow_mode_s == 30
