"""Publish chunks to the workers over `notifications` and the topics of `CHANNEL_TOPICS`, and decode them."""

import asyncio
from collections.abc import Collection

import msgspec

from tidings.jobs.model import ChunkRef, JobKind
from tidings.kernel.errors import wrap_decoder
from tidings.platform.kafka.errors import PublishError, UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Record
from tidings.platform.telemetry import logs
from tidings.schema.tables.model import KeyPartError, KeyTemplate

CHUNK_GROUP = "notifications"
_TOPIC = "notifications"
CHANNEL_TOPICS = {
    JobKind.MAIL: "mails",
    JobKind.PUSH: "pushes",
    JobKind.INDEX: "indexing",
    JobKind.ERASE: "erasures",
    JobKind.EXPORT: "exports",
}
"""The topics of chunks of channels, of rebuilds of the search index, of erasures and of exports. Each has a consumer group with its name."""
_KEY = KeyTemplate("{tenant}#{job}#{chunk}")
_CHAT_KEY = KeyTemplate("{tenant}#{chat}")
_encode = msgspec.json.Encoder().encode
_decode = wrap_decoder(msgspec.json.Decoder(ChunkRef).decode, msgspec.DecodeError)

log = logs.get_logger(__name__)


class KafkaChunkPublisher:
    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    def publish(self, refs: Collection[ChunkRef]) -> None:
        """Publish without waiting. The sweeper publishes lost chunks again."""
        for ref in refs:
            topic = _TOPIC if ref.kind is None else CHANNEL_TOPICS[ref.kind]
            self._publisher.send(topic, kafka_key(ref), _encode(ref)).add_done_callback(_log_failure)


def decode_chunk(record: Record) -> ChunkRef:
    """Decode an event. Raises `UndecodableError` also for ids that cannot be part of a key: they would always fail."""
    try:
        ref = _decode(record.value or b"")
        kafka_key(ref)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error)) from error
    return ref


def kafka_key(ref: ChunkRef) -> bytes:
    if ref.chat is not None:
        return _CHAT_KEY.render(tenant=ref.tenant, chat=ref.chat).encode()
    return _KEY.render(tenant=ref.tenant, job=ref.job, chunk=ref.chunk).encode()


def _log_failure(sending: "asyncio.Future[RecordMetadata]") -> None:
    if not sending.cancelled() and isinstance(error := sending.exception(), PublishError):
        log.warning("chunk not published", reason=str(error))
