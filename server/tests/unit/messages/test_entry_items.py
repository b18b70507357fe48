"""Items of the log: both conversions give the same entry, and an entry survives being stored."""

from hypothesis import given
from hypothesis.strategies import (
    binary,
    booleans,
    builds,
    dictionaries,
    integers,
    lists,
    none,
    sampled_from,
    text,
)

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import ChatRules, Entry, EntryKind
from tidings.messages.store.entry_items import (
    ENTRY_ITEM,
    EntryItem,
    entry_from_bytes,
    entry_from_item,
    entry_item,
)

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
NUMBERS = integers(0, 10**15)
TIMES = integers(0, 4 * 10**12)
WORDS = text("abcdefä", min_size=1, max_size=5)
ENTRIES = builds(
    Entry,
    sequence=NUMBERS,
    ordinal=NUMBERS,
    kind=sampled_from(EntryKind),
    sender=WORDS.map(UserId),
    client_key=WORDS.map(ClientKey),
    fingerprint=binary(max_size=16),
    created_at_ms=TIMES,
    epoch=integers(0, 3),
    content=none() | binary(max_size=16),
    content_type=none() | WORDS,
    visible_until_ms=none() | TIMES,
    refers_to=none() | NUMBERS,
    emoji=none() | WORDS,
    name=none() | WORDS,
    role=none() | WORDS,
    users=lists(WORDS.map(UserId), max_size=3).map(tuple),
    member_count=none() | NUMBERS,
    large=booleans(),
)
CHANGES = dictionaries(sampled_from(["edited_at", "redacted_at"]), TIMES.map(format_ms))
COUNTS = dictionaries(WORDS, integers(1, 9), min_size=1)


@given(ENTRIES)
def test_an_entry_is_read_as_it_was_written(entry: Entry) -> None:
    item = dict(entry_item(CHAT, entry))
    assert entry_from_item(item) == entry
    assert entry_from_bytes(ENTRY_ITEM.of(item)) == entry


@given(ENTRIES, CHANGES, none() | COUNTS, lists(WORDS, max_size=3))
def test_both_conversions_of_changed_entries_are_equal(
    entry: Entry, changes: dict[str, str], counts: dict[str, int] | None, users: list[str]
) -> None:
    item = dict(entry_item(CHAT, entry)) | changes | {"reaction_users": users}
    if counts is not None:
        item["reaction_counts"] = counts
    found = entry_from_bytes(ENTRY_ITEM.of(item))
    assert found == entry_from_item(item)
    assert (found.reaction_counts, found.reaction_users) == (counts, tuple(users))


def test_every_attribute_is_declared() -> None:
    """An attribute that is not declared would be lost without an error."""
    entry = Entry(
        sequence=1,
        ordinal=1,
        kind=EntryKind.CREATE,
        sender=UserId("a"),
        client_key=ClientKey("k"),
        fingerprint=b"f",
        created_at_ms=1,
        epoch=1,
        content=b"c",
        content_type="t",
        visible_until_ms=1,
        refers_to=1,
        emoji="e",
        name="n",
        role="r",
        users=(UserId("b"),),
        attachments=("u",),
        member_count=1,
        large=True,
        until_ms=1,
        reason="r",
        rules=ChatRules(is_frozen=True),
        archived_in="p",
        archive_key=b"k",
    )
    written = {*entry_item(CHAT, entry), "edited_at", "redacted_at", "reaction_counts", "reaction_users"}
    assert written == {*EntryItem.__struct_fields__, "chat_id"}
