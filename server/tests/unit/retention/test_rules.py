"""The rules of retention: which limit counts, which entries have expired, and how they are split."""

from hypothesis import given
from hypothesis import strategies as st

from tidings.chats.model import ChatType
from tidings.kernel.ids import ClientKey, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.retention import rules
from tidings.retention.model import ChatRetention
from tidings.tenants.model import RetentionSettings

NOW = 1_000 * rules.DAY_MS
LIMITS = RetentionSettings(direct_days=7, group_days=30)
days = st.none() | st.integers(1, 900)


def entry(sequence: int, at_ms: int = 0, **more: object) -> Entry:
    fields = {"content": b"text", "kind": EntryKind.MESSAGE, **more}
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        sender=UserId("anna"),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=at_ms,
        **fields,  # type: ignore[arg-type]
    )


def test_the_limit_of_a_chat_replaces_that_of_its_type() -> None:
    plain = ChatRetention()
    assert rules.days_of(LIMITS, ChatType.DIRECT, plain) == 7
    assert rules.days_of(LIMITS, ChatType.GROUP, plain) == 30
    assert rules.days_of(RetentionSettings(direct_days=7), ChatType.GROUP, plain) is None
    for own in (1, 365):
        assert rules.days_of(LIMITS, ChatType.DIRECT, ChatRetention(days=own)) == own


@given(direct=days, group=days, own=days, type_=st.sampled_from(ChatType))
def test_nothing_expires_under_a_hold_or_without_a_limit(
    direct: int | None, group: int | None, own: int | None, type_: ChatType
) -> None:
    limits, chat = RetentionSettings(direct_days=direct, group_days=group), ChatRetention(days=own)
    cutoff = rules.cutoff_ms(limits, type_, chat, NOW)
    limit = rules.days_of(limits, type_, chat)
    assert cutoff == (None if limit is None else NOW - limit * rules.DAY_MS)
    held = RetentionSettings(direct_days=direct, group_days=group, is_held=True)
    assert rules.cutoff_ms(held, type_, chat, NOW) is None
    assert rules.cutoff_ms(limits, type_, ChatRetention(days=own, is_held=True), NOW) is None


def test_a_chat_is_due_if_an_entry_may_be_older_than_the_cutoff() -> None:
    assert rules.is_due(None, 100)
    assert rules.is_due(99, 100)
    assert not rules.is_due(100, 100)


@given(st.lists(st.integers(0, 10), max_size=12), st.integers(0, 11))
def test_the_expired_part_is_a_prefix_of_older_entries(times: list[int], cutoff: int) -> None:
    entries = [entry(n, at_ms) for n, at_ms in enumerate(times, start=1)]
    old = rules.expired_part(entries, cutoff)
    assert list(old) == entries[: len(old)]
    assert all(each.created_at_ms < cutoff for each in old)
    assert len(old) == len(entries) or entries[len(old)].created_at_ms >= cutoff


def test_the_oldest_entry_after_the_expired_part_decides_when_the_chat_is_due_again() -> None:
    entries = [entry(1, 10), entry(2, 20)]
    assert rules.oldest_after(entries, 1, NOW) == 20
    assert rules.oldest_after(entries, 2, NOW) is None, "the log may have more"
    assert rules.oldest_after([], 0, NOW) == NOW - rules.SKEW_MS, "later entries are younger"


def test_only_messages_with_content_are_emptied() -> None:
    assert rules.has_content(entry(1), NOW)
    assert rules.has_content(entry(1, content=None, attachments=("01J",)), NOW)
    assert rules.has_content(entry(1, content=None, visible_until_ms=NOW + 1), NOW), "ephemeral content"
    assert not rules.has_content(entry(1, content=None, visible_until_ms=NOW), NOW), "emptied before"
    assert not rules.has_content(entry(1, content=None), NOW), "of an erased user"
    assert not rules.has_content(entry(1, redacted_at_ms=1, attachments=("01J",)), NOW)
    assert not rules.has_content(entry(1, kind=EntryKind.EDIT), NOW)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), max_size=120))
def test_each_transaction_has_room_for_the_checks_of_the_policy(shapes: list[tuple[int, bool]]) -> None:
    messages = [
        entry(n, attachments=("01J",) * files, visible_until_ms=NOW if is_ephemeral else None)
        for n, (files, is_ephemeral) in enumerate(shapes)
    ]
    parts = list(rules.transactions(messages))
    assert [message for part in parts for message in part] == messages
    for part in parts:
        assert part
        assert sum(1 + len(m.attachments) + (m.visible_until_ms is not None) for m in part) <= 98
