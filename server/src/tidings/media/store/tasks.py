"""Tasks of the media worker in Kafka."""

import asyncio

import msgspec

from tidings.kernel.errors import Code, TidingsError, wrap_decoder
from tidings.media.model import MediaTask
from tidings.platform.kafka.errors import PublishError, UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Record
from tidings.schema.tables.items.media import upload_key
from tidings.schema.tables.model import KeyPartError
from tidings.schema.topics.model import MEDIA

_encode = msgspec.json.Encoder().encode
_decode = wrap_decoder(msgspec.json.Decoder(MediaTask).decode, msgspec.DecodeError)


class KafkaMediaTasks:
    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    async def publish(self, task: MediaTask) -> None:
        try:
            await self._send(task)
        except PublishError as error:
            raise TidingsError(Code.OVERLOADED, f"Kafka did not accept a media task: {error}") from error

    def publish_soon(self, task: MediaTask) -> None:
        self._send(task).add_done_callback(_ignore_failure)

    def _send(self, task: MediaTask) -> "asyncio.Future[RecordMetadata]":
        return self._publisher.send(MEDIA.name, f"{task.tenant}#{task.upload}".encode(), _encode(task))


def _ignore_failure(sending: "asyncio.Future[RecordMetadata]") -> None:
    if not sending.cancelled():
        sending.exception()


def decode_media_task(record: Record) -> MediaTask:
    """Decode a record. Raises `UndecodableError`."""
    try:
        task = _decode(record.value or b"")
        upload_key(task.tenant, task.upload)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error)) from error
    return task
