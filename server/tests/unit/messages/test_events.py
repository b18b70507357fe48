"""Published events contain the committed entries, byte for byte, and are small."""

import msgspec
import pytest

from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import CommittedEvent, Entry, EntryKind, decode_event, encode_event, partition_key

ENTRY = Entry(
    sequence=7,
    ordinal=5,
    kind=EntryKind.MESSAGE,
    sender=UserId("anna"),
    client_key=ClientKey("01JCQ2W3E4R5T6Y7U8I9O0PASD"),
    fingerprint=bytes(32),
    created_at_ms=1_763_000_000_000,
    content=bytes(range(100)),
    reaction_counts={"+1": 2},
    reaction_users=("+1 ben",),
)
EVENT = CommittedEvent(TenantId("acme"), ChatId("g-1"), (ENTRY,), 3)


def test_an_event_is_decoded_unchanged() -> None:
    assert decode_event(encode_event(EVENT)) == EVENT


def test_an_event_adds_few_bytes_to_its_content() -> None:
    assert len(encode_event(EVENT)) - len(ENTRY.content or b"") < 150


def test_invalid_events_are_detected() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_event(encode_event(EVENT)[:-1])


def test_an_entry_of_a_version_with_more_fields_is_understood() -> None:
    newer = msgspec.msgpack.decode(encode_event(EVENT))
    newer[2][0].append("a field of tomorrow")
    assert decode_event(msgspec.msgpack.encode(newer)) == EVENT


def test_a_chats_events_have_one_key() -> None:
    assert partition_key(ChatKey(TenantId("acme"), ChatId("g-1"))) == b"acme#g-1"
