"""The contract of every search index."""

from collections.abc import Sequence
from typing import Any

import pytest
from fixtures.engines import Namespace
from fixtures.search import IndexFactory, document, request
from msgspec.structs import replace

from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Interval
from tidings.search.model import ATTACHMENT_WORD, Candidate, DocumentRemoval, MessageRef
from tidings.search.ports import SearchIndex


def sequences(found: Sequence[Candidate]) -> list[int]:
    return [each.ref.sequence for each in found]


async def found(index: SearchIndex, tenant: str, text: str, **more: Any) -> list[int]:
    await index.refresh()
    return sequences(await index.find(request(tenant, text, **more)))


async def test_documents_are_found_by_all_their_words_newest_first(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply(
            [
                document(t, 1, "lunch today", at_ms=1_000),
                document(t, 2, "lunch tomorrow", at_ms=3_000),
                document(t, 3, "Crème brûlée for lunch", at_ms=2_000),
            ]
        )
        assert await found(index, t, "lunch") == [2, 3, 1]
        assert await found(index, t, "Lunch TODAY") == [1]
        assert await found(index, t, "creme") == [3]
        assert await found(index, t, "lunch dinner") == []
        assert await found(index, t, "lun") == []
        assert await found(index, t, "to*") == [2, 1]
        assert await found(index, t, "to* lunch tod*") == [1]


async def test_every_filter_applies(indexes: IndexFactory, space: Namespace) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply(
            [
                document(t, 1, "word", at_ms=1_000, sender="anna"),
                document(t, 2, "word", at_ms=2_000, sender="ben"),
                document(t, 3, "word", at_ms=3_000, sender="anna", chat="g2"),
                replace(document(t, 4, "has attachment", at_ms=4_000), words=(ATTACHMENT_WORD,)),
                document(t, 5, "has attachment", at_ms=5_000),
            ]
        )
        assert await found(index, t, "", has_attachment=True) == [4]
        assert await found(index, t, "word", has_attachment=True) == []
        assert await found(index, t, "word", chats=("g1",)) == [2, 1]
        assert await found(index, t, "word", chats=("g2",)) == [3]
        assert await found(index, t, "word", chats=("g3",)) == []
        assert await found(index, t, "word", sender=UserId("anna")) == [3, 1]
        assert await found(index, t, "word", before_ms=3_000) == [2, 1]
        assert await found(index, t, "word", after_ms=2_000) == [3, 2]
        assert await found(index, t, "word", after_ms=2_000, before_ms=2_001) == [2]


async def test_only_messages_inside_the_intervals_of_a_chat_are_found(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply([document(t, n, "word", chat=chat) for n in range(1, 10) for chat in ("g1", "g2")])
        rejoined = (Interval(1, 3), Interval(6))
        assert await found(index, t, "word", chats={"g1": rejoined}) == [9, 8, 7, 3, 2]
        assert await found(index, t, "word", chats={"g1": rejoined}, limit=4) == [9, 8, 7, 3]
        assert await found(index, t, "word", chats={"g1": (Interval(4, 5),)}) == [5]
        assert await found(index, t, "word", chats={"g1": (Interval(0, 2),), "g2": (Interval(8),)}) == [
            9,
            2,
            1,
        ]
        mixed = {"g1": (Interval(0),), "g2": (Interval(2, 3),), "g3": (Interval(0),)}
        assert await found(index, t, "word", chats=mixed, before_ms=1_004) == [3, 3, 2, 1]


async def test_intervals_of_many_chats_are_asked_for(indexes: IndexFactory, space: Namespace) -> None:
    """A user who joined more groups later than an engine allows clauses in one query."""
    async with indexes() as index:
        t, count = space.tenant, 2_000
        await index.apply([document(t, n, "word", chat=f"g{chat}") for chat in range(count) for n in (1, 2)])
        later = {f"g{chat}": (Interval(1),) for chat in range(1, count)}
        assert await found(index, t, "word", chats={**later, "g0": (Interval(0),)}, limit=2_500) == [
            2
        ] * count + [1]
        first = await index.find(request(t, "word", chats=later, limit=7))
        assert len(first) >= 7
        assert [each.order for each in first] == sorted((each.order for each in first), reverse=True)


@pytest.mark.parametrize("year_ms", [-(10**14), -1, 2**43 - 1, 2**43, 253_402_300_799_999])
async def test_filters_take_any_time(indexes: IndexFactory, space: Namespace, year_ms: int) -> None:
    """Before 1970, and after 2248, the last year that an order can hold."""
    async with indexes() as index:
        t, is_later = space.tenant, year_ms > 0
        await index.apply([document(t, 1, "word", at_ms=1_000)])
        assert await found(index, t, "word", before_ms=year_ms) == [1] * is_later
        assert await found(index, t, "word", after_ms=year_ms) == [1] * (not is_later)


async def test_a_tenant_never_finds_documents_of_another(indexes: IndexFactory, space: Namespace) -> None:
    """Chats and users of two tenants may have the same ids, and an id may start with another."""
    async with indexes() as index:
        one, two = space.tenant, f"{space.tenant}-2"
        await index.apply([document(one, 1, "word"), document(two, 2, "word")])
        assert await found(index, one, "word") == [1]
        assert await found(index, two, "word") == [2]
        assert await found(index, one, "word", sender=UserId("anna")) == [1]
        assert set(await index.tenants()) >= {one, two}
        await index.delete_tenant(TenantId(one))
        assert await found(index, one, "word") == []
        assert await found(index, two, "word") == [2]
        assert one not in await index.tenants()


async def test_a_document_is_replaced_and_removed(indexes: IndexFactory, space: Namespace) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply([document(t, 1, "frist"), document(t, 2, "other")])
        await index.apply([document(t, 1, "first", version=3)])
        assert await found(index, t, "frist") == []
        assert await found(index, t, "first") == [1]
        await index.apply([DocumentRemoval(ref(t, 1), 4)])
        assert await found(index, t, "first") == []
        assert await found(index, t, "other") == [2]
        await index.apply([DocumentRemoval(ref(t, 1), 4), DocumentRemoval(ref(t, 9), 9)])


async def test_an_older_state_does_not_replace_a_newer_one(indexes: IndexFactory, space: Namespace) -> None:
    """A rebuild reads a message, the indexer removes it, and the rebuild applies what it has read."""
    async with indexes() as index:
        t = space.tenant
        await index.apply([DocumentRemoval(ref(t, 1), 5), document(t, 2, "new", version=6)])
        await index.apply([document(t, 1, "redacted"), document(t, 2, "old")])
        assert await found(index, t, "redacted") == []
        assert await found(index, t, "old") == []
        assert await found(index, t, "new") == [2]
        await index.apply([document(t, 2, "newest", version=6)])
        assert await found(index, t, "newest") == [2], "the same version may be applied again"


async def test_of_changes_to_one_message_the_last_counts(indexes: IndexFactory, space: Namespace) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply(
            [document(t, 1, "a"), document(t, 1, "b", version=2), DocumentRemoval(ref(t, 1), 3)]
        )
        assert await found(index, t, "a") == []
        assert await found(index, t, "b") == []


async def test_expired_documents_are_hidden_at_once_and_deleted_later(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        t = space.tenant
        await index.apply([document(t, 1, "soon", expires_ms=5_000), document(t, 2, "soon")])
        assert await found(index, t, "soon", now_ms=4_999) == [2, 1]
        assert await found(index, t, "soon", now_ms=5_000) == [2]
        await index.delete_expired(4_999)
        assert await found(index, t, "soon", now_ms=0) == [2, 1]
        await index.delete_expired(5_000)
        assert await found(index, t, "soon", now_ms=0) == [2]


async def test_documents_of_a_chat_or_of_a_sender_are_deleted(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        t, other = space.tenant, f"{space.tenant}-2"
        await index.apply(
            [
                document(t, 1, "word"),
                document(t, 2, "word", chat="g2"),
                document(t, 3, "word", sender="ben"),
                document(other, 4, "word"),
            ]
        )
        await index.delete_user(TenantId(t), UserId("ben"))
        assert await found(index, t, "word") == [2, 1]
        await index.delete_chat(ChatKey(TenantId(t), ChatId("g1")))
        assert await found(index, t, "word") == [2]
        assert await found(index, other, "word") == [4]


async def test_pages_have_every_document_once_also_at_the_same_time(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        t = space.tenant
        # One document twice in the order: the same place in another tenant, then many of one millisecond.
        await index.apply([document(t, n, "word", at_ms=1_000 + n // 20) for n in range(1, 101)])
        await index.refresh()
        seen: list[int] = []
        below = None
        while page := await index.find(request(t, "word", limit=7, below=below)):
            seen += sequences(page)
            below = page[-1].order
            await index.apply([document(t, 1_000 + len(seen), "word", at_ms=9_000)])
            await index.refresh()
        assert sorted(seen) == list(range(1, 101))
        orders = [each.order for each in await index.find(request(t, "word", limit=50))]
        assert orders == sorted(orders, reverse=True)


async def test_candidates_with_the_order_of_the_last_one_are_in_its_page(
    indexes: IndexFactory, space: Namespace, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tidings.search.rules.order_of", lambda _ref, at_ms: at_ms << 20)
    async with indexes() as index:
        t = space.tenant
        await index.apply([document(t, n, "word", at_ms=1_000) for n in range(1, 6)])
        assert sorted(await found(index, t, "word", limit=2)) == [1, 2, 3, 4, 5]


async def test_a_reopened_index_has_every_applied_change(indexes: IndexFactory, space: Namespace) -> None:
    async with indexes() as index:
        await index.apply([document(space.tenant, 1, "kept")])
    async with indexes() as index:
        assert await found(index, space.tenant, "kept") == [1]


def ref(tenant: str, sequence: int) -> MessageRef:
    return MessageRef(ChatKey(TenantId(tenant), ChatId("g1")), sequence)
