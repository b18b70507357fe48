"""A cached audience is never older than the entries it is used for."""

from collections.abc import Sequence

from tidings.chats.model import Membership, Role
from tidings.delivery.audience import CachedAudience
from tidings.delivery.ports import AudienceSnapshot
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, Interval

ANNA = UserId("anna")


def chat(name: str = "gX") -> ChatKey:
    return ChatKey(TenantId("acme"), ChatId(name))


def run(first: int, last: int, *moves: int) -> list[Entry]:
    return [
        Entry(
            sequence=n,
            ordinal=n,
            kind=EntryKind.JOIN if n in moves else EntryKind.MESSAGE,
            sender=ANNA,
            client_key=ClientKey(str(n)),
            fingerprint=b"",
            created_at_ms=0,
        )
        for n in range(first, last + 1)
    ]


class Source:
    """Counts its reads; has as many members as were asked for."""

    def __init__(self, members: int = 2, large_since: int | None = None) -> None:
        self.reads = 0
        self._members, self._large_since = members, large_since

    async def of(self, chat: ChatKey, as_of: int) -> AudienceSnapshot:
        del chat, as_of
        self.reads += 1
        return AudienceSnapshot(self._some(), self._large_since)

    async def everyone(self, chat: ChatKey) -> Sequence[Membership]:
        del chat
        return self._some()

    def _some(self) -> list[Membership]:
        names = [UserId(f"u{n}") for n in range(self._members)]
        return [Membership(user=name, role=Role.MEMBER, intervals=(Interval(0),)) for name in names]


async def reads(source: Source, kept: CachedAudience, entries: list[Entry], of: ChatKey | None = None) -> int:
    """Return the number of reads for these entries."""
    before = source.reads
    kept.follow(of or chat(), entries)
    await kept.of(of or chat(), entries[-1].sequence)
    return source.reads - before


async def test_entries_without_membership_changes_need_no_read() -> None:
    kept = CachedAudience(source := Source())
    assert await reads(source, kept, run(1, 3)) == 1
    assert await reads(source, kept, run(4, 4)) == 0
    assert await reads(source, kept, run(5, 9)) == 0
    assert await reads(source, kept, run(2, 6)) == 0, "what comes again was seen already"


async def test_a_membership_change_causes_a_read() -> None:
    kept = CachedAudience(source := Source())
    await reads(source, kept, run(1, 3))
    assert await reads(source, kept, run(4, 6, 5)) == 1
    assert await reads(source, kept, run(7, 7)) == 0


async def test_unseen_entries_may_be_membership_changes() -> None:
    kept = CachedAudience(source := Source())
    await reads(source, kept, run(1, 3))
    assert await reads(source, kept, run(5, 5)) == 1
    await kept.of(chat(), 9)
    assert source.reads == 3, "nobody showed it the entries up to 9"


async def test_a_large_chat_stays_large() -> None:
    kept = CachedAudience(source := Source(0, large_since=2))
    await reads(source, kept, run(1, 3))
    assert await reads(source, kept, run(40, 50, 44)) == 0


async def test_the_cache_is_bounded_by_members_and_evicts_the_least_recently_used() -> None:
    kept = CachedAudience(source := Source(9), max_members=30)
    for name in ("g1", "g2", "g3"):
        await reads(source, kept, run(1, 1), chat(name))
    assert await reads(source, kept, run(2, 2), chat("g1")) == 0
    assert await reads(source, kept, run(1, 1), chat("g4")) == 1
    assert await reads(source, kept, run(2, 2), chat("g1")) == 0
    assert await reads(source, kept, run(2, 2), chat("g2")) == 1
