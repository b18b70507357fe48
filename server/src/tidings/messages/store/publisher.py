"""Tells Kafka of what was committed, right after the commit and off the path of the answer.

Never waits, never raises. What does not get there is counted and let go: the relay finds in DynamoDB's own stream that
it was not handled, and publishes it again. What waits for a broker is bounded by the publisher.
"""

import asyncio
import logging
from collections.abc import Sequence

from tidings.kernel.ids import ChatKey
from tidings.messages.model import CommittedEvent, Entry, encode_event, partition_key
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.topics.model import MESSAGES

_log = logging.getLogger(__name__)


class KafkaCommitPublisher:
    """Given to the lanes as `World.told`: one record for each append, however many entries it has."""

    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher
        self.published = 0
        self.failed = 0

    def publish(self, chat: ChatKey, entries: Sequence[Entry], /) -> None:
        try:
            event = CommittedEvent(chat.tenant, chat.chat, tuple(entries), entries[0].epoch)
            answer = self._publisher.send(MESSAGES.name, partition_key(chat), encode_event(event))
        except Exception:  # noqa: BLE001 - an ack must not fail for what comes after it
            self.failed += 1
            _log.exception("an event could not be published")
            return
        answer.add_done_callback(self._on_delivered)

    def _on_delivered(self, answer: "asyncio.Future[RecordMetadata]") -> None:
        if answer.cancelled() or answer.exception() is not None:
            self.failed += 1
        else:
            self.published += 1
