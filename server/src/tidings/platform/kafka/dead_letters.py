"""What can't be decoded goes to a topic of its own: the original bytes, key and headers, and why.

A dead letter is acknowledged before the offset moves on, so it may come twice and is never missing.
"""

from collections.abc import Awaitable, Callable

from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Headers, Record

REASON, TOPIC, PARTITION, OFFSET = "dead-reason", "dead-topic", "dead-partition", "dead-offset"
MAX_REASON_CHARS = 500

type DeadLetterPublisher = Callable[[Record, str], Awaitable[object]]


def dead_letter_to(publisher: KafkaPublisher, topic: str) -> DeadLetterPublisher:
    """A function that publishes a record to the dead-letter topic and returns when that is acknowledged."""

    async def bury(record: Record, reason: str) -> None:
        headers = (*record.headers, *reason_header(record, reason))
        await publisher.send(topic, record.key, record.value, headers)

    return bury


def reason_header(record: Record, reason: str) -> Headers:
    return (
        (REASON, reason[:MAX_REASON_CHARS].encode()),
        (TOPIC, record.topic.encode()),
        (PARTITION, str(record.partition).encode()),
        (OFFSET, str(record.offset).encode()),
    )
