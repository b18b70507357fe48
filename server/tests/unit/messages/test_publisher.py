"""Publishing a commit to Kafka never waits and never raises; outcomes are counted.

Invalid events go to the dead-letter topic and do not stop the worker.
"""

import asyncio
import random

import pytest

from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, decode_event
from tidings.messages.store import KafkaCommitPublisher, decode_committed
from tidings.platform.kafka.errors import NotAcceptedError, UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.records import Headers, Record

CHAT = ChatKey(TenantId("acme"), ChatId("g1"))
ENTRY = Entry(
    sequence=7,
    ordinal=6,
    kind=EntryKind.MESSAGE,
    sender=UserId("anna"),
    client_key=ClientKey("k"),
    fingerprint=b"f",
    created_at_ms=1,
    content=b"sealed",
    epoch=2,
)


class Outbox:
    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes | None, bytes | None]] = []
        self.answers: list[asyncio.Future[RecordMetadata]] = []

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers
    ) -> "asyncio.Future[RecordMetadata]":
        assert headers == ()
        self.sent.append((topic, key, value))
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]


async def test_an_append_is_one_record_under_its_chats_key() -> None:
    publisher = KafkaCommitPublisher(outbox := Outbox())  # type: ignore[arg-type]  # all that it asks of a publisher
    publisher.publish(CHAT, [ENTRY, ENTRY])
    ((topic, key, value),) = outbox.sent
    event = decode_event(value or b"")
    assert (topic, key, event.key, event.entries, event.epoch) == (
        *("messages", b"acme#g1", CHAT),
        *((ENTRY, ENTRY), 2),
    )


async def test_entries_that_kafka_does_not_accept_are_counted_and_dropped() -> None:
    publisher = KafkaCommitPublisher(outbox := Outbox())  # type: ignore[arg-type]  # all that it asks of a publisher
    for _ in range(3):
        publisher.publish(CHAT, [ENTRY])
    outbox.answers[0].set_result(RecordMetadata(0, 0))
    outbox.answers[1].set_exception(NotAcceptedError("no room"))
    outbox.answers[2].cancel()
    await asyncio.sleep(0)
    assert (publisher.published, publisher.failed) == (1, 2)


async def test_a_failing_publisher_does_not_fail_the_commit() -> None:
    publisher = KafkaCommitPublisher(None)  # type: ignore[arg-type]  # broken on purpose
    publisher.publish(CHAT, [ENTRY])
    assert publisher.failed == 1


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
