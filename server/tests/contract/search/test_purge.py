"""A purge removes deleted words from the files of the index, and an erasure verifies it."""

import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import override

import pytest
from fixtures.engines import Namespace
from fixtures.search import IndexFactory, NoExpiredMessages, SearchTenants, document, request
from fixtures.use_cases import MovingClock

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.search.erasure import IndexErasure
from tidings.search.model import DocumentRemoval, MessageRef
from tidings.search.ports import SearchIndex
from tidings.search.store.opensearch import OpenSearchIndex
from tidings.search.sweeper import PURGE_EVERY_MS, IndexSweeper

# Files of an index are compressed: letters of one script are packed, and repeated bytes are references. Most parts of a
# random word with letters of many scripts are stored as they are.
_LETTERS = [
    letter
    # Digits, and Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic letters.
    for first, last in (
        (48, 57),
        (97, 122),
        (945, 969),
        (1072, 1103),
        (1377, 1414),
        (1488, 1514),
        (1575, 1610),
    )
    for letter in map(chr, range(first, last + 1))
    if letter.isalnum() and unicodedata.normalize("NFKD", letter).casefold() == letter
]
_PART = 5


def secret_word() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(24))


def found_in_files(files: Path, words: Sequence[str]) -> set[str]:
    """Return the words of which any part is in any file of the index."""
    content = b"".join(path.read_bytes() for path in files.rglob("*") if path.is_file())
    return {
        word
        for word in words
        if any(word[at : at + _PART].encode() in content for at in range(len(word) - _PART + 1))
    }


@pytest.fixture
def without_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait until OpenSearch renews its leases: these tests do not read its files."""

    async def no_wait(_: OpenSearchIndex) -> None: ...

    monkeypatch.setattr(OpenSearchIndex, "_await_leases", no_wait)


async def found(index: SearchIndex, tenant: str, word: str) -> list[int]:
    await index.refresh()
    return [each.ref.sequence for each in await index.find(request(tenant, word))]


async def test_after_a_purge_the_files_have_no_deleted_words(
    indexes: IndexFactory, index_files: Path, space: Namespace
) -> None:
    """Words of messages that were redacted, edited, expired, or sent by an erased user, or in a deleted tenant."""
    t, other = space.tenant, f"{space.tenant}-2"
    kept, gone = [secret_word() for _ in range(80)], [secret_word() for _ in range(5)]
    async with indexes() as index:
        await index.apply(
            [
                *(document(t, n, f"{word} word") for n, word in enumerate(kept, 100)),
                document(t, 1, f"{gone[0]} word"),
                document(t, 2, f"{gone[1]} word"),
                document(t, 3, f"{gone[2]} word", expires_ms=5_000),
                document(t, 4, f"{gone[3]} word", sender="eve"),
                document(other, 5, f"{gone[4]} word"),
            ]
        )
        await index.refresh()
        await index.apply([DocumentRemoval(ref(t, 1), 200), document(t, 2, "edited word", version=200)])
        await index.delete_expired(5_000)
        await index.delete_tenant(TenantId(other))
        assert found_in_files(index_files, gone) == set(gone), (
            "deleted words are in the files until the purge"
        )
        await IndexErasure(index, NO_FAILPOINTS).erase_user(TenantId(t), UserId("eve"))
        assert found_in_files(index_files, gone) == set()
        assert found_in_files(index_files, kept) == set(kept), "the test can see the words of other messages"
        for n, word in enumerate(kept, 100):
            assert await found(index, t, word) == [n]
        assert await found(index, t, "edited") == [2]
        for word in gone:
            assert await found(index, t, word) == []


@pytest.mark.usefixtures("without_leases")
async def test_the_index_works_after_a_purge_and_when_it_is_opened_again(
    indexes: IndexFactory, space: Namespace
) -> None:
    t = space.tenant
    async with indexes() as index:
        await index.purge()
        assert await index.purged_ms() >= 0
        await index.apply([document(t, 1, "first", sender="ben"), document(t, 2, "second", expires_ms=9_000)])
        await index.purge()
        await index.apply([document(t, 3, "third")])
        await index.apply([document(t, 1, "changed", version=4, sender="ben")])
        assert [await found(index, t, word) for word in ("first", "changed", "second", "third")] == [
            [], [1], [2], [3],
        ]  # fmt: skip
        await index.purge()
    async with indexes() as index:
        assert await found(index, t, "third") == [3]
        assert await index.has_user(TenantId(t), UserId("ben"))
        assert await index.tenants() == [t]
        await index.delete_expired(9_000)
        assert await found(index, t, "second") == []
        assert await index.purged_ms() > 0


@pytest.mark.usefixtures("without_leases")
async def test_the_sweeper_purges_twice_a_day(indexes: IndexFactory, space: Namespace) -> None:
    async with indexes() as index:
        await index.apply([document(space.tenant, 1, "word")])
        purges: list[int] = []
        real = index.purge

        async def purge() -> None:
            purges.append(1)
            await real()

        index.purge = purge  # type: ignore[method-assign]
        clock = MovingClock()
        sweeper = IndexSweeper(index, SearchTenants(**{space.tenant: True}), NoExpiredMessages(), clock)  # type: ignore[arg-type]  # reads only
        await sweeper.sweep()
        await sweeper.sweep()
        assert len(purges) == 1
        clock.ahead_ms = PURGE_EVERY_MS + 60_000
        await sweeper.sweep()
        assert len(purges) == 2


class AtStep(Failpoints):
    """Calls a function at a failpoint, as often as it is hit."""

    def __init__(self, act: Callable[[], Awaitable[None]]) -> None:
        self._act = act

    @override
    async def hit(self, name: str, /) -> None:
        await self._act()


@pytest.mark.usefixtures("without_leases")
async def test_an_erasure_also_deletes_what_was_indexed_meanwhile(
    indexes: IndexFactory, space: Namespace
) -> None:
    t = space.tenant
    async with indexes() as index:
        await index.apply([document(t, 1, "secret", sender="eve"), document(t, 10, "kept", sender="anna")])
        late = [document(t, 9, "secret", sender="eve")]

        async def index_late() -> None:
            await index.apply(late)
            late.clear()

        await IndexErasure(index, AtStep(index_late)).erase_user(TenantId(t), UserId("eve"))
        assert await found(index, t, "secret") == []
        assert not await index.has_user(TenantId(t), UserId("eve"))
        assert await found(index, t, "kept") == [10]
        assert await index.has_user(TenantId(t), UserId("anna"))
        await IndexErasure(index, NO_FAILPOINTS).erase_user(TenantId(t), UserId("eve"))


@pytest.mark.usefixtures("without_leases")
async def test_an_erasure_fails_if_the_index_has_the_user_again(
    indexes: IndexFactory, space: Namespace
) -> None:
    async with indexes() as index:
        numbers = count(1)
        again = AtStep(lambda: index.apply([document(space.tenant, next(numbers), "word", sender="eve")]))
        with pytest.raises(TidingsError) as caught:
            await IndexErasure(index, again).erase_user(TenantId(space.tenant), UserId("eve"))
        assert caught.value.code is Code.OUTCOME_UNKNOWN


def ref(tenant: str, sequence: int) -> MessageRef:
    return MessageRef(ChatKey(TenantId(tenant), ChatId("g1")), sequence)
