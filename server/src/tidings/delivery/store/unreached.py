"""Events of users who can't be reached, on the topic `unreached`."""

import logging

import msgspec

from tidings.delivery.model import OfflineMessage
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.errors import PublishError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.tables.items.chat import user_key
from tidings.topics.declaration import UNREACHED

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class KafkaOfflineEvents:
    def __init__(self, publisher: KafkaPublisher) -> None:
        self._publisher = publisher

    async def publish(self, event: OfflineMessage) -> None:
        key = user_key(event.tenant, event.recipient).encode()
        try:
            await self._publisher.send(UNREACHED.name, key, _encode(event))
        except PublishError as error:
            if not error.retryable:
                # the same bytes would be judged the same: who waits for it must not wait for ever
                _log.exception("an event for a user who is away was rejected")
                return
            raise TidingsError(Code.OVERLOADED, f"Kafka did not take an event: {error}") from error
