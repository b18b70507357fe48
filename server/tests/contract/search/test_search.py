"""Search on real tables: what each member finds, whatever the index says."""

from collections.abc import Sequence

import pytest
from fixtures.search import SearchEnv, document
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, asked, by, code_of

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId
from tidings.messages.sender import Content
from tidings.search import rules
from tidings.search.model import IndexChange, SearchQuery

# The suite of the index runs on every engine; these tests are about what is authorised.
pytestmark = pytest.mark.parametrize("indexes", ["tantivy"], indirect=True)


async def test_members_find_new_edited_and_not_redacted_messages(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    first = await use_cases.send(chat, ANNA, "frist word")
    second = await use_cases.send(chat, BEN, "second word")
    await search.handle()
    assert await search.found(BEN, "word") == ["second word", "frist word"]
    await use_cases.change.edit(asked(chat, ANNA, first.sequence), Content(text="first word"))
    await use_cases.change.redact(asked(chat, BEN, second.sequence))
    assert await search.found(ANNA, "second") == [], "a redacted message is hidden before it is indexed"
    assert await search.found(ANNA, "frist") == [], "former words are hidden before the edit is indexed"
    await search.handle()
    assert await search.found(ANNA, "frist") == []
    assert await search.found(ANNA, "word") == ["first word"]
    assert (search.stats.indexed, search.stats.removed) == (3, 1)


async def test_a_batch_may_be_repeated(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    first = await use_cases.send(chat, ANNA, "word one")
    await use_cases.send(chat, ANNA, "word two")
    await use_cases.change.redact(asked(chat, ANNA, first.sequence))
    commits = await search.deliver()
    await search.indexer.handle(commits)
    await search.indexer.handle(commits[:2])
    await search.indexer.handle(commits)
    await search.index.refresh()
    assert await search.found(BEN, "word") == ["word two"]


async def test_each_member_finds_what_their_intervals_contain(search: SearchEnv) -> None:
    """The intervals: ben all, cleo removed and added again, dora later and removed, eve never."""
    use_cases = search.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "word one")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.send(chat, ANNA, "word two")
    await use_cases.commands.add(chat, by(ANNA), [CLEO, DORA])
    await use_cases.send(chat, ANNA, "word three")
    await use_cases.manage.remove(chat, by(ANNA), DORA)
    await use_cases.send(chat, ANNA, "word four")
    await search.handle()
    for filters in ({}, {"chat": chat.chat}, {"sender": ANNA}, {"limit": 1}):
        assert await search.found(BEN, "word", **filters) == [
            "word four", "word three", "word two", "word one",
        ]  # fmt: skip
        assert await search.found(CLEO, "word", **filters) == ["word four", "word three", "word one"]
        assert await search.found(DORA, "word", **filters) == ["word three"]
    assert await search.found(TenantId("eve"), "word", chat=chat.chat) == []  # type: ignore[arg-type]
    assert await search.found(TenantId("eve"), "word") == []  # type: ignore[arg-type]


async def test_the_chats_of_a_user_are_read_once_in_some_seconds(search: SearchEnv) -> None:
    """A cached list can miss a new chat. It does not show a chat that the user has left."""
    use_cases = search.use_cases
    search.service = search.make_search(chats_fresh_s=60)
    one = await use_cases.group(BEN)
    await use_cases.send(one, ANNA, "word one")
    await search.handle()
    assert await search.found(BEN, "word") == ["word one"]
    two = await use_cases.group(BEN)
    await use_cases.send(two, ANNA, "word two")
    await use_cases.manage.remove(one, by(ANNA), BEN)
    await use_cases.send(one, ANNA, "word three")
    await search.handle()
    assert await search.found(BEN, "word") == ["word one"]
    assert await search.found(BEN, "word", chat=two.chat) == ["word two"]
    search.service = search.make_search(chats_fresh_s=60)
    assert await search.found(BEN, "word") == ["word two", "word one"]


async def test_a_search_in_one_chat_finds_no_message_of_another(search: SearchEnv) -> None:
    use_cases = search.use_cases
    one, two = await use_cases.group(BEN), await use_cases.group(BEN)
    await use_cases.send(one, ANNA, "word one")
    await use_cases.send(two, ANNA, "word two")
    await search.handle()
    assert await search.found(BEN, "word", chat=one.chat) == ["word one"]
    assert await search.found(BEN, "word") == ["word two", "word one"]


async def test_a_blocked_user_finds_the_messages_of_the_past(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.commands.direct(use_cases.tenant, ANNA, BEN)
    await use_cases.send(chat, BEN, "word")
    await use_cases.commands.block(use_cases.tenant, by(ANNA), BEN)
    await search.handle()
    assert await search.found(BEN, "word") == ["word"]
    assert await search.found(ANNA, "word") == ["word"]
    assert await search.found(CLEO, "word", chat=chat.chat) == []


async def test_an_expired_message_is_not_found(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "word for a minute", ttl_s=60)
    await search.handle()
    assert await search.found(BEN, "word") == ["word for a minute"]
    use_cases.clock.ahead_ms = 61_000
    assert await search.found(BEN, "word") == []
    await search.sweeper.sweep()
    await search.index.refresh()
    use_cases.clock.ahead_ms = 0
    assert await search.found(BEN, "word") == [], "the document is deleted"


async def test_a_wrong_index_shows_nothing_that_the_asker_may_not_read(search: SearchEnv) -> None:
    """The index has words that the messages do not have, and messages of other chats and senders."""
    use_cases = search.use_cases
    chat, other = await use_cases.group(BEN), await use_cases.group(CLEO)
    await use_cases.send(chat, ANNA, "public word")
    await use_cases.send(other, ANNA, "private word")
    await search.handle()
    await search.index.apply(
        [
            document(use_cases.tenant, 2, "private secret word", chat=chat.chat, version=9),
            document(use_cases.tenant, 2, "private secret word", chat=other.chat, version=9),
            document(use_cases.tenant, 1, "private secret word", chat=chat.chat, version=9),
            document(use_cases.tenant, 99, "private secret word", chat=chat.chat, version=99),
        ]
    )
    await search.index.refresh()
    assert await search.found(BEN, "secret") == []
    assert await search.found(BEN, "private word", chat=other.chat) == []
    assert await search.found(BEN, "word") == ["public word"]
    assert await search.found(BEN, "word", sender=BEN) == []


async def test_filters_of_time_apply_to_the_message_and_not_to_the_index(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    before_ms = use_cases.clock.now_ms()
    await use_cases.send(chat, ANNA, "word")
    await search.handle()
    assert await search.found(BEN, "word", after_ms=before_ms) == ["word"]
    assert await search.found(BEN, "word", before_ms=before_ms) == []
    assert await search.found(BEN, "word", after_ms=before_ms + 3_600_000) == []
    ahead = document(use_cases.tenant, 2, "word", chat=chat.chat, at_ms=before_ms + 7_200_000, version=9)
    await search.index.apply([ahead])
    await search.index.refresh()
    assert await search.found(BEN, "word", after_ms=before_ms + 3_600_000) == []


async def test_another_tenant_finds_nothing_and_search_is_off_by_default(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA, "word")
    await search.handle()
    other, query = TenantId("another"), SearchQuery(words=rules.parse_query("word"), chat=chat.chat)
    assert await code_of(search.service.search(other, BEN, query)) is Code.SEARCH_OFF
    search.tenants.has_search[other] = False
    assert await code_of(search.service.search(other, BEN, query)) is Code.SEARCH_OFF
    search.tenants.has_search[other] = True
    assert (await search.service.search(other, BEN, query)).found == ()


async def test_messages_of_a_tenant_without_search_are_not_indexed(search: SearchEnv) -> None:
    use_cases = search.use_cases
    search.tenants.has_search[use_cases.tenant] = False
    await use_cases.send(await use_cases.group(BEN), ANNA, "word")
    await search.handle()
    assert await search.index.tenants() == []


async def test_turning_search_off_deletes_the_documents_of_the_tenant(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, ANNA, "word")
    await use_cases.change.edit(asked(chat, ANNA, sent.sequence), Content(text="new word"))
    commits = await search.deliver()
    await search.indexer.handle(commits)
    await search.index.refresh()
    await search.sweeper.sweep()
    await search.index.refresh()
    assert await search.found(BEN, "word") == ["new word"]
    search.tenants.has_search[use_cases.tenant] = False
    await search.sweeper.sweep()
    await search.index.refresh()
    assert await search.index.tenants() == []
    search.tenants.has_search[use_cases.tenant] = True
    assert await search.found(BEN, "word") == []
    await search.index.apply([document(use_cases.tenant, 2, "new word", chat=chat.chat)])
    await search.index.refresh()
    assert await search.found(BEN, "word") == ["new word"], "it can be indexed again at once"


async def test_entries_that_kafka_lacks_are_read_from_the_log(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    for number in range(8):
        await use_cases.send(chat, ANNA, f"word {number}")
    commits = await search.deliver()
    await search.indexer.handle([commits[2]])
    await search.indexer.handle([commits[-1]])
    await search.index.refresh()
    assert len(await search.found(BEN, "word")) == 8
    assert search.checkpoints.found[chat] == 9


async def test_the_past_of_a_chat_that_the_index_lacks_is_indexed_at_its_next_message(
    search: SearchEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebuild does not find the chats of users that the tenant's server only names."""
    use_cases = search.use_cases
    search.tenants.has_search[use_cases.tenant] = False
    chat = await use_cases.group(BEN)
    first = await use_cases.send(chat, ANNA, "word one")
    for number in range(30):
        await use_cases.send(chat, ANNA, f"filler {number}")
    await use_cases.change.redact(asked(chat, ANNA, first.sequence))
    await search.handle()
    search.tenants.has_search[use_cases.tenant] = True
    use_cases.clock.ahead_ms = 3_600_000
    await use_cases.send(chat, ANNA, "word two")
    await search.handle()
    assert await search.found(BEN, "word") == ["word two"]
    assert await search.found(BEN, "filler 0") == ["filler 0"]
    assert search.stats.indexed == 1, "the past is counted apart"
    # After the loss of a checkpoint, the past is not read again.
    applied: list[int] = []
    real = search.index.apply

    async def apply(changes: Sequence[IndexChange]) -> None:
        applied.extend(change.ref.sequence for change in changes)
        await real(changes)

    monkeypatch.setattr(search.index, "apply", apply)
    search.restart()
    last = await use_cases.send(chat, ANNA, "word three")
    await search.handle()
    assert applied == [last.sequence - 1, last.sequence], "the recent message, and the new one"


async def test_pages_are_complete_if_most_candidates_are_not_readable(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN, CLEO)
    await use_cases.send(chat, ANNA, "word first")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    for number in range(30):
        await use_cases.send(chat, ANNA, f"word {number}")
    await use_cases.commands.add(chat, by(ANNA), [CLEO])
    await use_cases.send(chat, ANNA, "word last")
    await search.handle()
    assert await search.found(CLEO, "word", limit=2) == ["word last", "word first"]
    assert len(await search.found(BEN, "word", limit=5)) == 32


async def test_expired_messages_leave_the_index_and_do_not_return(search: SearchEnv) -> None:
    use_cases = search.use_cases
    chat = await use_cases.group(BEN)
    old = await use_cases.send(chat, ANNA, "frist word")
    await use_cases.change.edit(asked(chat, ANNA, old.sequence), Content(text="first word"))
    await use_cases.send(chat, BEN, "new word")
    commits = await search.deliver()
    await search.indexer.handle(commits)
    await search.expired.note_unindexed(chat, old.sequence, old.sequence)
    read = await search.expired.unindexed(use_cases.tenant)
    await search.expired.note_unindexed(chat, old.sequence + 5, old.sequence + 5)
    for each in read:
        await search.expired.delete_unindexed(each)
    (note,) = await search.expired.unindexed(use_cases.tenant)
    assert (note.first, note.last) == (old.sequence, old.sequence + 5), "a note that has grown is not deleted"
    await search.expired.delete_unindexed(note)
    await search.expired.note_unindexed(chat, old.sequence, old.sequence)
    await search.sweeper.sweep()
    await search.indexer.handle(commits)  # A worker that has read the messages before they expired.
    await search.index.refresh()
    assert await search.expired.unindexed(use_cases.tenant) == []
    assert await search.found(BEN, "word") == ["new word"]
