"""The steps `leave` and `chats` of an erasure on both engines, also if the worker dies at any failpoint."""

from fixtures.chat_list_env import ChatListEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.memory_erasures import MemoryErasureStore
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, by

from tidings.chats.erasure import ChatDepartures
from tidings.chats.model import Role
from tidings.chats.store import DynamoMembershipEraser
from tidings.delivery.model import OfflineQueueBatch
from tidings.delivery.store import DynamoDeliveryEraser, DynamoOfflineQueue
from tidings.erasure import rules
from tidings.erasure.chat_steps import ChatStepDeps, ChatSteps
from tidings.erasure.model import Erasure, ErasureId, ErasureStep
from tidings.erasure.service import ErasureRunner
from tidings.kernel.ids import ChatKey, initial_epoch
from tidings.messages.model import EntryKind
from tidings.messages.past_log import PastLog
from tidings.messages.store import DynamoLogEraser, DynamoLogReader
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.patterns import chats as patterns
from tidings.schema.tables.patterns import erasure as erase_patterns
from tidings.schema.tables.patterns import messages as log_patterns

MAX_PAGES = 300


class ErasureEnv:
    """Runs the two steps for ANNA. Delivery runs whenever a worker waits, as it does in an installation.

    `is_delivery_behind`: it runs only when a worker waits for it.
    """

    is_delivery_behind = False

    def __init__(self, use_cases: UseCaseEnv) -> None:
        self.use_cases = use_cases
        self.lists = ChatListEnv(use_cases)
        self.store = MemoryErasureStore()
        self.erasure = Erasure(
            tenant=use_cases.tenant,
            user=ANNA,
            id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"),
            requested_ms=0,
            requested_by="test",
            secret=b"s" * 32,
            step=ErasureStep.LEAVE,
        )
        self.store.rows[use_cases.tenant, ANNA] = self.erasure

    def runner(self, failpoints: KillAt) -> ErasureRunner:
        env = self.use_cases
        deps = ChatStepDeps(
            memberships=DynamoMembershipEraser(
                env.client, env.clock, PastLog(DynamoLogReader(env.client), initial_epoch, None)
            ),
            depart=ChatDepartures(env.commands, env.rows).depart,
            log=DynamoLogEraser(env.client, page_entries=4),
            delivery=DynamoDeliveryEraser(env.client),
            clock=env.clock,
            failpoints=failpoints,
        )
        steps = ChatSteps(deps)
        actions = {ErasureStep.LEAVE: steps.leave, ErasureStep.CHATS: steps.rewrite}
        return ErasureRunner(self.store, actions, env.clock, failpoints)

    async def leave(self) -> None:
        while (erasure := self.store.rows[self.use_cases.tenant, ANNA]).step is ErasureStep.LEAVE:
            await self.runner(KillAt()).run(erasure, 0)

    async def run(self, failpoints: KillAt) -> Erasure:
        """Run until the step after `chats`. Ends with `KilledError` if the failpoints end the worker."""
        running = (ErasureStep.LEAVE, ErasureStep.SETTLED, ErasureStep.CHATS)
        for _ in range(MAX_PAGES):
            if (erasure := self.store.rows[self.use_cases.tenant, ANNA]).step not in running:
                return erasure
            self.use_cases.open_process()
            result = await self.runner(failpoints).run(erasure, 0)
            ahead_ms = (result.wait_until_ms or 0) - self.use_cases.clock.now_ms()
            if ahead_ms > 0:
                self.use_cases.clock.ahead_ms += ahead_ms
                if erasure.step is ErasureStep.CHATS or not self.is_delivery_behind:
                    await self.lists.deliver()
        raise AssertionError("the steps do not end")


async def chats_of_anna(env: UseCaseEnv) -> list[ChatKey]:
    group = await env.group(BEN, CLEO)
    direct = await env.manage.direct(env.tenant, ANNA, BEN)
    alone = await env.manage.group(env.tenant, by(ANNA), "alone", [])
    other = await env.manage.group(env.tenant, by(BEN), "other", [ANNA, CLEO])
    for chat in (group, direct, other):
        sent = await env.send(chat, ANNA, "secret", after=None)
        await env.send(chat, BEN, "from ben")
        await env.change.react(asked(chat, ANNA, sent.sequence), "👍")
        await env.send(chat, ANNA, "for an hour", ttl_s=3600)
    await env.send(alone, ANNA, "note")
    await env.moderation.ban(group, by(ANNA), DORA, reason="the words of anna")
    return [group, direct, alone, other]


async def stored_with_anna(env: UseCaseEnv, chats: list[ChatKey]) -> list[str]:
    """Return every stored item of the chats' logs, memberships and rows that names ANNA."""
    found = []
    for chat in chats:
        place = f"{chat.tenant}#{chat.chat}"
        for partition in (place, f"{place}#ephemeral", *(f"{place}#reactions#{n}" for n in range(1, 12))):
            query = Query(condition="chat_id = :c", values={":c": partition})
            found += [
                i async for page in env.client.pages(log_patterns.LIST_REACTIONS, query) for i in page.items
            ]
        members = Query(condition="chat_id = :c", values={":c": place})
        found += [i async for page in env.client.pages(patterns.LIST_MEMBERS, members) for i in page.items]
        found += [
            i async for page in env.client.pages(erase_patterns.LIST_KEYS, _keys(place)) for i in page.items
        ]
        found.append(await env.client.get(patterns.CHECK, {"chat_id": place}) or {})
    return [repr(item) for item in found if "anna" in repr(item)]


def _keys(place: str) -> Query:
    return Query(
        condition="chat_id = :c AND begins_with(client_message_id, :u)", values={":c": place, ":u": "anna#"}
    )


async def check(env: ErasureEnv, chats: list[ChatKey], unread: dict[ChatKey, int]) -> None:
    """Check that ANNA is not named anywhere, that the logs are dense, and that nothing changed for BEN."""
    assert await stored_with_anna(env.use_cases, chats) == []
    for chat in chats:
        entries = await env.use_cases.entries(chat)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
        leaves = [entry.kind for entry in entries if entry.kind in (EntryKind.LEAVE, EntryKind.BLOCK)]
        assert len(leaves) == (0 if chat == chats[2] else 1)
    await env.lists.deliver()
    for chat, count in unread.items():
        listed = await env.lists.listed(chat, BEN)
        assert listed.last is not None
        assert listed.unread == count
        assert listed.last.sender == rules.pseudonym(b"s" * 32, chat)


async def prepared(use_cases: UseCaseEnv) -> tuple[ErasureEnv, list[ChatKey], dict[ChatKey, int]]:
    env, chats = ErasureEnv(use_cases), await chats_of_anna(use_cases)
    await env.lists.deliver()
    queued = tuple(entry for entry in await use_cases.entries(chats[1]) if entry.kind is EntryKind.MESSAGE)
    await DynamoOfflineQueue(use_cases.client, use_cases.clock).put(
        [OfflineQueueBatch(chats[1], BEN, queued)]
    )
    unread = {chat: await env.lists.unread(chat, BEN) for chat in chats if chat != chats[2]}
    assert set(unread.values()) == {1}
    return env, chats, unread


async def test_no_item_of_the_chats_names_the_user_and_others_notice_nothing(use_cases: UseCaseEnv) -> None:
    env, chats, unread = await prepared(use_cases)
    done = await env.run(KillAt())
    await check(env, chats, unread)
    assert done.counts["chats"] == len(chats)
    assert done.counts["messages"] == 7
    assert done.counts["reactions"] == 3
    assert done.counts["queued_messages"] == 2


async def test_workers_that_die_at_failpoint_after_failpoint_finish_with_the_same_counts(
    use_cases: UseCaseEnv,
) -> None:
    env, chats, unread = await prepared(use_cases)
    deaths = 0
    while True:
        try:
            # Each worker reaches one failpoint more than the one before, so every page is stored at some time.
            done = await env.run(KillAt(1 + deaths))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths > 5
    await check(env, chats, unread)
    assert (done.counts["chats"], done.counts["messages"], done.counts["reactions"]) == (len(chats), 7, 3)


async def test_bans_stay_without_the_reasons_that_the_user_gave(use_cases: UseCaseEnv) -> None:
    env = ErasureEnv(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.manage.change_role(chat, by(ANNA), BEN, Role.ADMIN)
    for user in (CLEO, DORA):
        await use_cases.moderation.ban(chat, by(ANNA), user, reason="of anna")
    await use_cases.moderation.ban(chat, by(BEN), DORA, reason="of ben")
    await env.lists.deliver()
    await env.run(KillAt())
    rows = [await use_cases.rows.membership(chat, user) for user in (CLEO, DORA)]
    assert [row and (row.is_banned(use_cases.clock.now_ms()), row.ban_reason) for row in rows] == [
        (True, None),
        (True, "of ben"),
    ]


async def test_a_user_who_is_added_again_leaves_again(use_cases: UseCaseEnv) -> None:
    env = ErasureEnv(use_cases)
    chat = await use_cases.group(BEN)
    await env.lists.deliver()
    await env.leave()
    await use_cases.manage.add(chat, by(BEN), [ANNA])
    await env.run(KillAt())
    assert await stored_with_anna(use_cases, [chat]) == []
    assert (await use_cases.kinds(chat)).count(EntryKind.LEAVE) == 2


async def test_a_user_who_left_and_returned_before_the_erasure_is_replaced_in_both_memberships(
    use_cases: UseCaseEnv,
) -> None:
    env = ErasureEnv(use_cases)
    chat = await use_cases.manage.group(use_cases.tenant, by(BEN), "returns", [ANNA, CLEO])
    await use_cases.send(chat, ANNA, "first stay", after=None)
    await use_cases.manage.remove(chat, by(ANNA), ANNA)
    await use_cases.send(chat, BEN, "anna is not here", after=None)
    await use_cases.manage.add(chat, by(BEN), [ANNA])
    await use_cases.send(chat, ANNA, "second stay", after=None)
    await env.lists.deliver()
    before = await use_cases.rows.membership(chat, ANNA)
    done = await env.run(KillAt())
    assert await stored_with_anna(use_cases, [chat]) == []
    assert (await use_cases.kinds(chat)).count(EntryKind.LEAVE) == 2
    moved = await use_cases.rows.membership(chat, rules.pseudonym(b"s" * 32, chat))
    assert before is not None
    assert moved is not None
    assert [each.joined for each in moved.intervals] == [each.joined for each in before.intervals]
    assert moved.intervals[0] == before.intervals[0]
    assert [each.removed is None for each in moved.intervals] == [False, False]
    assert (done.counts["chats"], done.counts["messages"]) == (1, 2)


async def test_a_chat_is_not_finished_before_delivery_has_written_what_names_the_user(
    use_cases: UseCaseEnv,
) -> None:
    env = ErasureEnv(use_cases)
    env.is_delivery_behind = True
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "secret", after=None)
    await env.leave()
    # More than one page of entries that do not name the user, after the last one that does.
    for emoji in "😀😁😂😃😄😅":
        await use_cases.change.react(asked(chat, BEN, sent.sequence), emoji)
    await env.run(KillAt())
    await env.lists.deliver()
    listed = await env.lists.listed(chat, BEN)
    assert listed.last is not None
    assert (listed.last.sender, listed.unread) == (rules.pseudonym(b"s" * 32, chat), 1)
