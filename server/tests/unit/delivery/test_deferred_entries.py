"""Deferred entries of a group: which members receive new entries at once, and which must wait."""

import pytest
from msgspec.structs import replace
from unit.delivery.worker_env import ANNA, BEN, CLEO, DORA, HERE, WorkerEnv, chat, log_of

from tidings.bus.model import Push
from tidings.delivery.fanout_plan import ReachedUsers
from tidings.delivery.progress import MAX_DEFERRED_RETRY, ChatProgress, ProgressCache
from tidings.kernel.ids import UserId
from tidings.messages.model import EntryKind

GROUP = chat("g1")
LONG = MAX_DEFERRED_RETRY + 50
"""Longer than a backlog that is retried with each entry, and less than twice as long."""


def received(pushes: list[Push], user: UserId) -> list[int]:
    """Return the sequences that were pushed to a user, in order and with repetitions."""
    return [
        sequence
        for push in pushes
        for part in push.parts
        if user in {target.user for target in part.devices}
        for sequence in range(part.first, part.last + 1)
    ]


async def send(env: WorkerEnv, first: int, last: int) -> None:
    for n in range(first, last + 1):
        await env.worker.handle([(GROUP, env.entries[n - 1 : n])])


def outage(last: int = 1_000) -> WorkerEnv:
    """Return a group of Anna, Ben and Cleo. The Redis shard of Cleo's routes does not answer."""
    env = WorkerEnv(ANNA, BEN, entries=log_of(last))
    env.members[GROUP] = (ANNA, BEN, CLEO)
    env.redis.unknown = {CLEO}
    env.marks.of_chats[GROUP] = 0
    return env


def heal(env: WorkerEnv) -> None:
    env.redis.unknown, env.redis.online = set(), {ANNA, BEN, CLEO}
    env.redis.payloads.clear()


async def test_members_who_have_the_backlog_receive_each_new_entry_at_once() -> None:
    env = outage()
    for n in range(1, 1_001):
        env.redis.payloads.clear()
        await send(env, n, n)
        assert received(env.pushes, ANNA) == received(env.pushes, BEN) == [n]
    assert env.marks.of_chats[GROUP] == 0, "Cleo lacks all entries"
    assert env.counts.offline == 0, "offline events wait until everybody is reached"
    heal(env)
    await env.worker.handle([(GROUP, env.entries[:1_000])])
    assert received(env.pushes, CLEO) == list(range(1, 1_001))
    assert received(env.pushes, ANNA) == []
    assert env.marks.of_chats[GROUP] == 1_000


async def test_a_long_backlog_is_retried_each_time_it_has_doubled() -> None:
    env = outage()
    tries: list[int] = []
    for n in range(1, 1_001):
        env.redis.asked.clear()
        await send(env, n, n)
        if CLEO in env.redis.asked:
            tries.append(n)
    assert tries[:MAX_DEFERRED_RETRY] == list(range(1, MAX_DEFERRED_RETRY + 1))
    assert len(tries) < MAX_DEFERRED_RETRY + 10, "users whose shard is silent are asked for rarely"
    assert env.counts.backfilled < 25_000, "the log is read only for a retry"


async def test_a_member_who_lacks_few_entries_receives_them_with_the_next_one() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.redis.unknown, env.redis.online = {BEN, CLEO}, {ANNA}
    await send(env, LONG + 1, LONG + 10)
    env.redis.unknown, env.redis.online = {CLEO}, {ANNA, BEN}
    env.redis.payloads.clear()
    await send(env, LONG + 11, LONG + 12)
    assert received(env.pushes, BEN) == list(range(LONG + 1, LONG + 13)), "Cleo's backlog does not delay Ben"
    assert received(env.pushes, ANNA) == [LONG + 11, LONG + 12]
    assert env.marks.of_chats[GROUP] == 0
    heal(env)
    await env.worker.handle([(GROUP, env.entries[: LONG + 12])])
    assert received(env.pushes, CLEO) == list(range(1, LONG + 13))
    assert env.marks.of_chats[GROUP] == LONG + 12


async def test_a_member_who_recovers_is_no_longer_left_out_while_another_one_fails() -> None:
    """One shard recovers and another one fails before the backlog is processed."""
    env = outage()
    await send(env, 1, LONG)
    env.redis.unknown, env.redis.online = {BEN}, {ANNA, CLEO}
    await send(env, LONG + 1, 2 * MAX_DEFERRED_RETRY + 10)
    assert received(env.pushes, CLEO) == list(range(1, 2 * MAX_DEFERRED_RETRY + 11))
    assert received(env.pushes, BEN) == list(range(1, LONG + 1))
    assert received(env.pushes, ANNA) == list(range(1, 2 * MAX_DEFERRED_RETRY + 11))
    assert env.marks.of_chats[GROUP] == 0


async def test_a_member_without_the_end_of_the_backlog_waits_once_it_is_long() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.redis.unknown, env.redis.online = {BEN, CLEO}, {ANNA}
    await send(env, LONG + 1, 700)
    env.redis.asked.clear()
    await send(env, 701, 710)
    assert set(env.redis.asked) == {ANNA}


async def test_a_silent_gateway_channel_does_not_delay_members_at_other_gateways() -> None:
    env = outage()
    env.redis.unknown, env.redis.silent, env.redis.online = set(), {HERE}, {ANNA, BEN}
    env.redis.elsewhere = {CLEO}
    await send(env, 1, LONG)
    assert received(env.pushes, CLEO) == list(range(1, LONG + 1))
    assert env.marks.of_chats[GROUP] == 0


async def test_entries_that_waited_for_the_checkpoint_are_pushed_before_new_ones() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.marks.unknown = {GROUP}
    await send(env, LONG + 1, LONG + 5)
    assert received(env.pushes, ANNA)[-1] == LONG, "the checkpoint is unknown"
    env.marks.unknown = set()
    await send(env, LONG + 6, LONG + 7)
    assert received(env.pushes, ANNA) == list(range(1, LONG + 8))


async def test_a_worker_that_takes_over_a_long_backlog_pushes_it_once_to_reachable_members() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.worker = env.start_worker()
    env.redis.payloads.clear()
    await send(env, LONG + 1, LONG + 10)
    assert received(env.pushes, ANNA) == list(range(1, LONG + 11))
    assert received(env.pushes, CLEO) == []
    assert env.marks.of_chats[GROUP] == 0


async def test_members_who_are_found_again_during_a_retry_receive_no_later_entries_first() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.worker = env.start_worker()
    env.redis.payloads.clear()
    env.redis.online = {ANNA, BEN, CLEO}
    env.redis.found_after = 1
    await send(env, LONG + 1, LONG + 1)
    assert received(env.pushes, CLEO) == [], "the first look-up of the retry missed Cleo"
    assert env.marks.of_chats[GROUP] == 0
    await env.worker.handle([(GROUP, env.entries[: LONG + 1])])
    assert received(env.pushes, CLEO) == list(range(1, LONG + 2))
    assert env.marks.of_chats[GROUP] == LONG + 1


async def test_a_republished_page_advances_the_checkpoint_and_others_do_not_receive_it_again() -> None:
    env = outage()
    await send(env, 1, LONG)
    await env.worker.handle([(GROUP, env.entries[:100])])
    await send(env, LONG + 1, LONG + 1)
    assert received(env.pushes, ANNA) == list(range(1, LONG + 2)), (
        "a failed page does not forget the users who were reached"
    )
    heal(env)
    await env.worker.handle([(GROUP, env.entries[:100])])
    assert env.marks.of_chats[GROUP] == 100
    await send(env, LONG + 2, LONG + 2)
    assert received(env.pushes, CLEO) == list(range(1, LONG + 3)), "the next entry retries the rest"
    assert received(env.pushes, ANNA) == [LONG + 2]
    assert env.marks.of_chats[GROUP] == LONG + 2


async def test_entries_below_the_first_deferred_one_are_pushed_to_everybody() -> None:
    """A worker started without a checkpoint; then the relay created one further back."""
    env = outage()
    env.entries[:] = [replace(each, created_at_ms=each.sequence * 200_000) for each in env.entries]
    await send(env, 1, 29)
    env.worker = env.start_worker()
    env.marks.of_chats.clear()
    env.redis.payloads.clear()
    await send(env, 30, 40)
    assert received(env.pushes, ANNA) == list(range(30, 41))
    env.marks.of_chats[GROUP] = 19
    env.redis.payloads.clear()
    await send(env, 41, 41)
    assert received(env.pushes, ANNA) == list(range(20, 42))


async def test_a_group_that_becomes_large_waits_for_the_backlog() -> None:
    env = outage()
    await send(env, 1, LONG)
    env.redis.payloads.clear()
    env.entries[LONG] = replace(env.entries[LONG], kind=EntryKind.JOIN, users=(DORA,))
    env.source.large_since = LONG + 1
    await send(env, LONG + 1, LONG + 3)
    assert env.pushes == []
    assert env.redis.published == []
    assert env.marks.of_chats[GROUP] == 0
    heal(env)
    await env.worker.handle([(GROUP, env.entries[: LONG + 3])])
    assert received(env.pushes, CLEO)[: LONG + 1] == list(range(1, LONG + 2))
    assert env.redis.published == [[LONG + 2, LONG + 3]]
    assert env.marks.of_chats[GROUP] == LONG + 3


async def test_a_page_that_reaches_everybody_does_not_hide_a_deferred_one() -> None:
    """In a direct chat no user is left out, so the later pages reach both users."""
    env = WorkerEnv(ANNA, BEN, entries=log_of(10))
    env.marks.of_chats[chat("d1")] = 0
    env.redis.unknown, env.redis.found_after = {BEN}, 1
    await env.worker.handle([(chat("d1"), env.entries[9:])])
    assert env.marks.of_chats[chat("d1")] == 0, "the look-up of the first page missed Ben"
    await env.worker.handle([(chat("d1"), env.entries[9:])])
    assert env.marks.of_chats[chat("d1")] == 10


def large_outage() -> WorkerEnv:
    """Return a large chat in which entry 2 adds Dora, whose Redis shard does not answer."""
    env = WorkerEnv(ANNA, BEN, entries=log_of(1_000))
    env.entries[1] = replace(env.entries[1], kind=EntryKind.JOIN, users=(DORA,))
    env.source.large_since = 1
    env.marks.of_chats[GROUP] = 1
    env.redis.unknown = {DORA}
    return env


def published(env: WorkerEnv) -> list[int]:
    return [sequence for publish in env.redis.published for sequence in publish]


async def test_entries_of_a_large_chat_are_published_once_while_a_new_member_is_not_reached() -> None:
    env = large_outage()
    env.entries[299] = replace(env.entries[299], content=b"@ben")
    for n in range(2, 601):
        await send(env, n, n)
        assert env.redis.published[-1] == [n]
    assert published(env) == list(range(2, 601))
    assert env.marks.of_chats[GROUP] == 1, "Dora lacks all entries"
    assert "tell" not in env.steps
    env.redis.unknown, env.redis.online = set(), {DORA}
    await env.worker.handle([(GROUP, env.entries[1:600])])
    assert received(env.pushes, DORA) == list(range(2, 601))
    assert published(env) == list(range(2, 601))
    assert env.marks.of_chats[GROUP] == 600
    assert env.steps.count("tell") == 1, "Ben is mentioned in an entry that was published earlier"


async def test_a_member_of_a_large_chat_does_not_receive_their_leave_before_their_join() -> None:
    env = large_outage()
    env.entries[LONG] = replace(env.entries[LONG], kind=EntryKind.LEAVE, users=(DORA,))
    await send(env, 2, LONG)
    env.redis.unknown, env.redis.online = set(), {DORA}
    await send(env, LONG + 1, LONG + 1)
    assert received(env.pushes, DORA) == []
    assert env.marks.of_chats[GROUP] == 1
    await env.worker.handle([(GROUP, env.entries[1 : LONG + 1])])
    assert received(env.pushes, DORA) == list(range(2, LONG + 2))
    assert env.marks.of_chats[GROUP] == LONG + 1


async def test_entries_of_a_large_chat_wait_for_its_channel_and_are_published_in_order() -> None:
    env = large_outage()
    await send(env, 2, LONG)
    env.redis.is_channel_silent = True
    reads = env.counts.backfilled
    await send(env, LONG + 1, LONG + 100)
    assert env.counts.backfilled - reads < 2 * LONG, "the backlog is not retried with each entry"
    env.redis.is_channel_silent = False
    env.redis.published.clear()
    await env.worker.handle([(GROUP, env.entries[1 : LONG + 101])])
    assert list(dict.fromkeys(published(env)))[-101:] == list(range(LONG + 1, LONG + 102))
    assert env.marks.of_chats[GROUP] == 1, "Dora lacks all entries"


def test_an_attempt_that_left_out_entries_does_not_count_as_reaching_anybody() -> None:
    progress = ChatProgress()
    deferred(progress, 3, 4, BEN)
    assert progress.reached == ReachedUsers(4, {BEN: 3})
    deferred(progress, 9, 9, CLEO)
    assert progress.reached == ReachedUsers(4, {BEN: 3}), "entries 5 to 8 were not pushed"
    deferred(progress, 3, 9, CLEO)
    assert progress.reached == ReachedUsers(9, {CLEO: 5})
    progress.mark_processed(9)
    assert progress.reached is None


def test_an_attempt_at_part_of_the_backlog_keeps_what_each_user_lacks() -> None:
    progress = ChatProgress()
    deferred(progress, 3, 9, BEN)
    deferred(progress, 3, 5, CLEO)
    assert progress.reached == ReachedUsers(9, {BEN: 6}), "Cleo has all entries up to 9"
    assert progress.last_retry_size == 7
    deferred(progress, 7, 10, CLEO)
    assert progress.reached == ReachedUsers(10, {BEN: 6, CLEO: 10}), "entry 6 was not pushed to Ben"
    deferred(progress, 6, 11, BEN)
    assert progress.reached == ReachedUsers(11, {BEN: 6})


def test_deferring_an_earlier_entry_forgets_who_was_reached() -> None:
    progress = ChatProgress()
    deferred(progress, 30, 40, BEN)
    progress.defer(20)
    assert progress.reached is None
    assert not progress.has_reached_others(41)


@pytest.mark.parametrize(("processed", "is_known"), [(0, True), (29, True), (35, True), (19, False)])
def test_what_was_reached_is_known_from_the_first_deferred_entry_on(
    processed: int, *, is_known: bool
) -> None:
    progress = ChatProgress()
    deferred(progress, 30, 40, BEN)
    progress.mark_processed(processed)
    assert progress.has_reached_others(41) is is_known
    assert not progress.has_reached_others(42), "entry 41 was not pushed"


def test_the_users_who_missed_entries_are_bounded() -> None:
    cache = ProgressCache(max_missed_by=3)
    for name, missed_by in (("g1", {ANNA, BEN}), ("g2", {CLEO}), ("g1", {ANNA}), ("g3", {CLEO, DORA})):
        cache.get(chat(name)).defer(1, 1)
        cache.mark_reached(chat(name), 1, 1, missed_by)
    known = [name for name in ("g1", "g2", "g3") if cache.get(chat(name)).reached]
    assert known == ["g1", "g3"], "the oldest attempt is forgotten"
    assert cache.get(chat("g2")).first_deferred == 1


def deferred(progress: ChatProgress, first: int, last: int, *missed_by: UserId) -> None:
    progress.defer(first, last)
    progress.mark_reached(first, last, set(missed_by))
