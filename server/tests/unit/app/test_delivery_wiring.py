"""Decode events from Kafka: invalid ones go to the dead-letter topic and do not stop the worker."""

import random

import pytest

from tidings.app.wiring.delivery import decode_committed
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.records import Record

_THREE_OF = 0x93
_TEXT_OF_ONE = 0xA1


def record(value: bytes | None) -> Record:
    return Record("messages", 0, 7, 0, b"key", value, ())


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{}",
        b"not an event",
        bytes([_THREE_OF, _TEXT_OF_ONE, 0xFF]),
        bytes([_THREE_OF, _TEXT_OF_ONE, 0x61, _TEXT_OF_ONE, 0xFF]),
        bytes([_THREE_OF]) * 5_000,
    ],
)
def test_a_record_that_is_not_an_event_is_not_decoded(value: bytes | None) -> None:
    with pytest.raises(UndecodableError):
        decode_committed(record(value))


def test_any_bytes_raise_at_most_undecodable() -> None:
    """The second byte starts a text, so that decoding gets as far as possible."""
    chance = random.Random(7)
    for _ in range(2_000):
        value = bytes([_THREE_OF, chance.randrange(0xA0, 0xC0)]) + chance.randbytes(62)
        with pytest.raises(UndecodableError):
            decode_committed(record(value))
