"""Publish committed entries to Kafka, right after the commit and off the ack path; decode the published events."""

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from tidings.kernel.ids import ChatKey
from tidings.messages.model import CommittedEvent, Entry, decode_event, encode_event, partition_key
from tidings.platform.kafka.errors import UndecodableError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.kafka.records import Headers, Record
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.model import KeyPartError
from tidings.schema.topics.model import MESSAGES

_log = logging.getLogger(__name__)


class KafkaCommitPublisher:
    """Publishes one record per append. `publish` is the `on_commit` callback of the append queues.

    `publish` never waits and never raises. A failed record is counted and dropped: the relay finds in the table's change
    stream that the entries were not processed, and publishes them again. `KafkaPublisher` bounds unsent records.
    """

    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher
        self.published = 0
        self.failed = 0

    def publish(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        try:
            event = CommittedEvent(chat.tenant, chat.chat, tuple(entries), entries[0].epoch)
            delivered = self.send_event(event)
        except Exception:  # noqa: BLE001 - the entry is committed, so its ack must not fail
            self.failed += 1
            _log.exception("committed entries could not be published")
            return
        delivered.add_done_callback(self._on_delivered)

    def send_event(self, event: CommittedEvent, headers: Headers = ()) -> "asyncio.Future[RecordMetadata]":
        return self._publisher.send(MESSAGES.name, partition_key(event.key), encode_event(event), headers)

    def _on_delivered(self, delivered: "asyncio.Future[RecordMetadata]") -> None:
        if delivered.cancelled() or delivered.exception() is not None:
            self.failed += 1
        else:
            self.published += 1


def decode_committed(record: Record) -> CommittedEvent:
    """Decode an event. Raises `UndecodableError` also for an event that a worker cannot process."""
    try:
        event = decode_event(record.value or b"")
        chat_key(event.key)
    except (msgspec.DecodeError, KeyPartError) as error:
        raise UndecodableError(str(error), record) from error
    sequences = [entry.sequence for entry in event.entries]
    if not sequences or sequences != list(range(sequences[0], sequences[0] + len(sequences))):
        raise UndecodableError(f"entries without order, or none: {sequences[:10]}", record)
    return event
