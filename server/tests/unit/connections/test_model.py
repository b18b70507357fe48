"""Messages to gateways are decoded as they were encoded."""

import msgspec
import pytest

from tidings.bus.model import (
    ConnectionReplaced,
    DeviceTarget,
    Push,
    PushSlice,
    ResumeSignal,
    decode_messages,
    encode_messages,
)
from tidings.kernel.ids import ChatId, ClientKey, DeviceId, TenantId, UserId
from tidings.messages.model import Entry, EntryKind

ACME, ANNA, PHONE = TenantId("acme"), UserId("anna"), DeviceId("phone")
ENTRY = Entry(
    sequence=1,
    ordinal=1,
    kind=EntryKind.MESSAGE,
    sender=ANNA,
    client_key=ClientKey("k"),
    fingerprint=b"f",
    created_at_ms=1,
    content=b"\x00sealed",
)
WORDS = (
    Push(ACME, ChatId("g-1"), (ENTRY,), (PushSlice(1, 1, (DeviceTarget(ANNA, PHONE, 9),)),), is_large=True),
    ResumeSignal(ACME, ANNA, (DeviceTarget(ANNA, PHONE, 9),)),
    ConnectionReplaced(ACME, ANNA, PHONE, 10),
)


def test_messages_are_decoded_as_they_were_encoded() -> None:
    assert decode_messages(encode_messages(WORDS)) == WORDS


def test_a_truncated_message_is_not_decoded() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_messages(encode_messages(WORDS)[:-1])


def test_a_message_with_invalid_text_is_not_decoded() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_messages(encode_messages(WORDS).replace(ANNA.encode(), b"\xff" * len(ANNA)))
