"""Which offline events a check publishes: none for received messages, one for each of the others, or a later check."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from fixtures.memory_chat_rows import PlainKeys
from msgspec.structs import replace

from tidings.delivery import offline_checker
from tidings.delivery.mentions import MessageText
from tidings.delivery.model import (
    ChatRow,
    JoinPosition,
    LastMessageRef,
    LogPosition,
    OfflineCheck,
    OfflineMessage,
    RowUpdate,
)
from tidings.delivery.offline_checker import (
    OfflineChecker,
    OfflineCheckerDeps,
    OfflineCheckStats,
    merge_checks,
)
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

ACME, ANNA, BEN, CHAT = TenantId("acme"), UserId("anna"), UserId("ben"), ChatId("g1")
NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


def entry(
    sequence: int, sender: UserId = ANNA, kind: EntryKind = EntryKind.MESSAGE, age_ms: int = 0, **more: Any
) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=kind,
        sender=sender,
        client_key=ClientKey(f"k{sequence}"),
        fingerprint=b"",
        created_at_ms=NOW_MS - age_ms,
        content=b"text",
        **more,
    )


class CheckEnv:
    """A user, one chat, and a Kafka that refuses the events in `refused`."""

    def __init__(self, entries: Sequence[Entry] = (), **marks: int) -> None:
        self.entries = list(entries or [entry(n) for n in range(2, 8)])
        self.marks: dict[str, Any] = {name: LogPosition(at, at) for name, at in marks.items()}
        self.known = RowUpdate(head=LogPosition(7, 7), joined=JoinPosition(1, 0, 0))
        self.head: RowUpdate | None = None
        self.wait_ms: int | None = 0
        self.is_redis_down = False
        self.late: list[OfflineCheck] = []
        self.events: list[int] = []
        self.refused: dict[int, int] = {}
        self.row_reads = 0
        self.reads: list[str] = []
        self.marks_of: dict[UserId, dict[str, LogPosition]] = {}
        self.connected: set[UserId] = set()
        self.stats = OfflineCheckStats()
        deps = OfflineCheckerDeps(
            status=self,
            rows=cast("Any", self),
            rows_of=self.rows_of,
            log=cast("Any", self),
            keys=cast("Any", PlainKeys()),
            checks=cast("Any", self),
            publish=self.publish,
            read_text=lambda body: MessageText(body.decode()),
            shows_previews=self.shows_previews,
            clock=cast("Any", self),
        )
        self.checker = OfflineChecker(deps, self.stats)

    async def check(self, first: int = 2, last: int = 7) -> list[int]:
        check = OfflineCheck(tenant=ACME, users=(BEN,), at_ms=NOW_MS, chat=CHAT, first=first, last=last)
        await self.checker.handle([check])
        return sorted(self.events)

    async def offline_after_ms(self, tenant: TenantId, user: UserId) -> int | None:
        del tenant
        self.reads.append("routes")
        if self.is_redis_down:
            raise UnavailableError("down")
        return None if user in self.connected else self.wait_ms

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> dict[UserId, ChatRow]:
        self.reads.append(f"rows {chat.chat} {len(users)}")
        return {
            user: ChatRow(chat=CHAT, known=self.known, **(self.marks | self.marks_of.get(user, {})))
            for user in users
        }

    async def rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        self.row_reads += 1
        del tenant, user
        return [ChatRow(chat=CHAT, known=self.known, **self.marks)]

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]:
        del tenant
        self.reads.append("heads")
        return dict.fromkeys(chats, self.head) if self.head is not None else {}

    async def between(self, chat: ChatKey, after: int, up_to: int) -> list[Entry]:
        self.reads.append(f"log {chat.chat} {after} {up_to}")
        return [each for each in self.entries if after < each.sequence <= up_to][:2]

    def check_late(self, check: OfflineCheck) -> None:
        self.late.append(check)

    def now_ms(self) -> int:
        return NOW_MS

    async def shows_previews(self, tenant: TenantId) -> bool:
        del tenant
        return False

    async def publish(self, event: OfflineMessage) -> None:
        if self.refused.get(event.sequence, 0):
            self.refused[event.sequence] -= 1
            raise TidingsError(Code.OVERLOADED, "refused")
        self.events.append(event.sequence)


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline_checker, "_FIRST_WAIT_S", 0.0001)


async def test_every_message_of_the_range_has_one_event() -> None:
    assert await CheckEnv().check(3, 6) == [3, 4, 5, 6]


@pytest.mark.parametrize("mark", ["delivered", "read"])
async def test_what_was_delivered_or_read_has_no_event(mark: str) -> None:
    env = CheckEnv()
    env.marks = {mark: LogPosition(5, 5)}
    assert await env.check() == [6, 7]


async def test_what_is_older_than_an_hour_has_no_event() -> None:
    old, young = entry(2, age_ms=HOUR_MS), entry(3, age_ms=HOUR_MS - 1)
    assert await CheckEnv([old, young]).check() == [3]


async def test_only_messages_of_others_that_are_not_redacted_have_events() -> None:
    entries = [
        entry(2, sender=BEN),
        entry(3, kind=EntryKind.REACTION),
        entry(4, redacted_at_ms=NOW_MS),
        entry(5),
    ]
    assert await CheckEnv(entries).check() == [5]


async def test_entries_before_the_last_join_have_no_event() -> None:
    env = CheckEnv()
    env.known = RowUpdate(head=LogPosition(7, 7), joined=JoinPosition(5, 0, 0), removed=3)
    assert await env.check() == [6, 7]


async def test_a_former_member_and_a_large_chat_have_no_events() -> None:
    for change in ({"removed": 7}, {"is_large": True}):
        env = CheckEnv()
        env.known = RowUpdate(head=LogPosition(7, 7), joined=JoinPosition(1, 0, 0), **cast("Any", change))
        assert await env.check() == []


async def test_a_mention_in_a_large_chat_has_an_event() -> None:
    env = CheckEnv()
    env.known = RowUpdate(head=LogPosition(7, 7), joined=JoinPosition(1, 0, 0), is_large=True)
    mention = OfflineCheck(
        tenant=ACME, users=(BEN,), at_ms=NOW_MS, chat=CHAT, first=6, last=6, is_mention=True
    )
    await env.checker.handle([mention])
    assert env.events == [6]
    env.known = replace(env.known, removed=7)
    await env.checker.handle([replace(mention, first=5, last=5)])
    assert env.events == [6]


async def test_the_head_of_a_group_says_that_it_is_large_and_how_far_it_is() -> None:
    env, row = CheckEnv(), RowUpdate(head=LogPosition(1, 0), joined=JoinPosition(1, 0, 0))
    env.known, env.head = row, RowUpdate(head=LogPosition(7, 7), is_large=True)
    assert await env.check() == []
    shown = LastMessageRef(sequence=7, version=7, at_ms=NOW_MS, sender=ANNA)
    env.head = RowUpdate(head=LogPosition(7, 7), shown=shown)
    await env.checker.handle([OfflineCheck(tenant=ACME, users=(BEN,), at_ms=NOW_MS, since_ms=NOW_MS - 1)])
    assert sorted(env.events) == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("wait_ms", [None, 1])
async def test_a_connected_or_reconnecting_user_is_checked_again_until_they_have_the_messages(
    wait_ms: int | None,
) -> None:
    env = CheckEnv()
    env.wait_ms = wait_ms
    assert await env.check() == []
    (late,) = env.late
    env.marks = {"delivered": LogPosition(5, 5)}
    env.wait_ms = 0
    await env.checker.handle([late])
    assert (sorted(env.events), len(env.late)) == ([6, 7], 1)


async def test_a_connected_user_who_has_the_messages_is_not_checked_again() -> None:
    env = CheckEnv(delivered=7)
    env.wait_ms = None
    assert (await env.check(), env.late, env.stats.settled) == ([], [], 1)


async def test_without_redis_the_check_is_repeated_later() -> None:
    env = CheckEnv()
    env.is_redis_down = True
    assert (await env.check(), len(env.late)) == ([], 1)


async def test_a_refused_event_repeats_no_other_event() -> None:
    env = CheckEnv()
    env.refused = {4: 3}
    assert await env.check() == [2, 3, 4, 5, 6, 7]
    assert (env.stats.published, env.stats.failed) == (6, 0)


async def test_an_event_that_is_never_accepted_is_dropped_and_counted() -> None:
    env = CheckEnv()
    env.refused = {4: 10**9}
    assert await env.check() == [2, 3, 5, 6, 7]
    assert env.stats.failed == 1
    env.refused = {}
    assert await env.check() == [2, 3, 4, 5, 6, 7], "a later check publishes it, and nothing again"


async def test_two_checks_of_the_same_messages_have_one_event_each() -> None:
    env = CheckEnv()
    await env.check(2, 5)
    assert await env.check(4, 7) == [2, 3, 4, 5, 6, 7]
    assert env.stats.repeated == 2


async def test_the_badge_is_read_once_for_several_checks() -> None:
    env = CheckEnv()
    for sequence in range(2, 8):
        await env.check(sequence, sequence)
    assert (len(env.events), env.row_reads) == (6, 1)


async def test_a_check_of_all_chats_covers_recent_messages_that_were_not_received() -> None:
    env = CheckEnv([entry(2, age_ms=500_000), entry(3, age_ms=200_000), entry(4), entry(5)])
    shown = RowUpdate(head=LogPosition(5, 5), joined=JoinPosition(1, 0, 0))
    env.known = shown
    check = OfflineCheck(tenant=ACME, users=(BEN,), at_ms=NOW_MS, since_ms=NOW_MS - 300_000)
    await env.checker.handle([check])
    assert env.events == [], "a row without a recent message is not read"
    env.known = replace(shown, shown=LastMessageRef(sequence=5, version=5, at_ms=NOW_MS, sender=ANNA))
    await env.checker.handle([check])
    assert sorted(env.events) == [3, 4, 5]


def check_of(*users: UserId, first: int, last: int, **more: Any) -> OfflineCheck:
    return OfflineCheck(tenant=ACME, users=users, at_ms=NOW_MS, chat=CHAT, first=first, last=last, **more)


async def test_users_of_one_check_share_the_reads_of_their_rows_the_head_and_the_log() -> None:
    env, away = CheckEnv(), [UserId(f"u{n}") for n in range(99)]
    env.entries = [entry(2), entry(3)]
    await env.checker.handle([check_of(*away, first=2, last=3)])
    assert env.stats.published == 2 * 99
    assert env.reads[:99] == ["routes"] * 99, "before the watermarks"
    assert env.reads[99:102] == [f"rows {CHAT} 99", "heads", f"log {CHAT} 1 3"]
    assert env.reads[102:] == ["heads"] * 99, "of the badges"


async def test_each_user_of_a_check_has_events_of_what_they_missed() -> None:
    env, carla, dora = CheckEnv(), UserId("carla"), UserId("dora")
    env.marks_of = {BEN: {"delivered": LogPosition(6, 6)}, carla: {"read": LogPosition(7, 7)}}
    env.connected = {dora, carla}
    await env.checker.handle([check_of(BEN, carla, dora, first=6, last=7)])
    assert env.events == [7], "for Ben"
    assert [late.users for late in env.late] == [(dora,)], "Carla has all messages"
    assert (env.stats.settled, env.stats.late, env.stats.published) == (1, 1, 1)


def test_checks_of_adjoining_entries_are_merged() -> None:
    one, two, four = (check_of(BEN, first=n, last=n) for n in (1, 2, 4))
    assert merge_checks([one, two, four]) == [check_of(BEN, first=1, last=2), four]
    assert merge_checks([check_of(BEN, first=1, last=9), two]) == [check_of(BEN, first=1, last=9)]


def test_checks_of_other_users_mentions_and_long_ranges_are_not_merged() -> None:
    one, two = check_of(BEN, first=1, last=1), check_of(BEN, first=2, last=2)
    others = [
        check_of(ANNA, first=2, last=2),
        check_of(BEN, first=2, last=2, is_mention=True),
        check_of(BEN, first=2, last=2, since_ms=1),
        check_of(BEN, first=2, last=1 + offline_checker.MAX_MESSAGES),
        replace(two, chat=ChatId("g2")),
        replace(two, tenant=TenantId("other")),
    ]
    for other in others:
        assert merge_checks([one, other]) == [one, other]
