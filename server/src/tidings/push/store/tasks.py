"""Tasks in Kafka: offline events, further attempts, and dead letters."""

import asyncio

import msgspec

from tidings.delivery.model import OfflineMessage
from tidings.kernel.errors import Code, TidingsError, wrap_decoder
from tidings.platform.kafka.errors import PublishError, UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Record
from tidings.push.model import PushRead, PushTask
from tidings.push.rules import RetryDelays
from tidings.schema.tables.items.chats import user_key
from tidings.schema.tables.model import KeyPartError
from tidings.schema.topics.model import (
    OFFLINE,
    OFFLINE_DEAD,
    PUSH_READS,
    PUSH_RETRIES,
    PUSH_RETRIES_LATE,
)

_encode = msgspec.json.Encoder().encode
_decode_event = wrap_decoder(msgspec.json.Decoder(OfflineMessage).decode, msgspec.DecodeError)
_decode_read = wrap_decoder(msgspec.json.Decoder(PushRead).decode, msgspec.DecodeError)
_decode_task = wrap_decoder(msgspec.json.Decoder(PushTask).decode, msgspec.DecodeError)


def topic_delays_ms(delays: RetryDelays) -> dict[str, int]:
    """Return how long after its publication a task of each topic is processed."""
    late = {
        PUSH_RETRIES.name: round(delays.first_s * 1000),
        PUSH_RETRIES_LATE.name: round(delays.late_s * 1000),
    }
    return {OFFLINE.name: 0, PUSH_READS.name: 0, **late}


class KafkaReadPublisher:
    """Publish reads without waiting. A read that Kafka does not accept is lost: the notification stays until it is opened."""

    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    def publish(self, read: PushRead) -> None:
        key = user_key(read.tenant, read.user).encode()
        sending = self._publisher.send(PUSH_READS.name, key, _encode(read))
        sending.add_done_callback(_ignore_failure)


def _ignore_failure(sending: "asyncio.Future[RecordMetadata]") -> None:
    if not sending.cancelled():
        sending.exception()


class KafkaTaskPublisher:
    def __init__(self, publisher: KafkaPublisher, delays: RetryDelays) -> None:
        self._publisher = publisher
        self._delays = delays
        self._dead_letter = dead_letter_to(publisher, OFFLINE_DEAD.name)

    async def retry(self, task: PushTask, /) -> None:
        is_late = task.due_ms - task.at_ms > self._delays.late_after_s * 1000
        topic = PUSH_RETRIES_LATE if is_late else PUSH_RETRIES
        with _translated():
            await self._publisher.send(topic.name, _key(task), _encode(task))

    async def dead_letter(self, task: PushTask, reason: str, /) -> None:
        """Publish the offline event, so that a replay decides and sends again."""
        event = _encode(task.event)
        record = Record(OFFLINE.name, 0, 0, task.at_ms, _key(task), event, ())
        with _translated():
            await self._dead_letter(record, reason)


class _translated:  # noqa: N801 - used as a statement
    def __enter__(self) -> None:
        """Enter without effect."""

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, PublishError):
            code = Code.OVERLOADED if error.retryable else Code.REQUEST_INVALID
            raise TidingsError(code, f"Kafka did not accept a push task: {error}") from error


def _key(task: PushTask) -> bytes:
    return user_key(task.event.tenant, task.event.recipient).encode()


def decode_task(record: Record) -> PushTask | PushRead:
    """Decode a record of any of the topics. Raises `UndecodableError`."""
    try:
        if record.topic.endswith(PUSH_READS.name):
            return _decode_read(record.value or b"")
        if record.topic.endswith(OFFLINE.name):
            task = PushTask(event=_decode_event(record.value or b""), at_ms=record.timestamp_ms)
        else:
            task = _decode_task(record.value or b"")
        _key(task)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error)) from error
    return task
