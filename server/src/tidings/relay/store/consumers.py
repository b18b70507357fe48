"""How far the consumers of a topic are, asked of the brokers."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.cimpl import murmur2

from tidings.kernel.ids import ChatKey
from tidings.platform.kafka.connection import Connection
from tidings.platform.kafka.errors import words
from tidings.platform.kafka.lag import Survey
from tidings.relay.model import Reached
from tidings.relay.ports import AwayError

_ANSWER_S = 3.0


class KafkaConsumers:
    """Asks for the partitions in question alone."""

    def __init__(
        self, connection: Connection, *, topic: str, group: str, key_of: Callable[[ChatKey], bytes]
    ) -> None:
        self._topic = connection.topic(topic)
        self._survey = Survey(connection, connection.group(group), [self._topic])
        self._looker = Consumer({**connection.admin_config(), "group.id": connection.group(group)})
        self._thread = ThreadPoolExecutor(1, "kafka-partitions")
        self._key_of = key_of

    def close(self) -> None:
        self._survey.close()
        self._thread.submit(self._looker.close)
        self._thread.shutdown(wait=False)

    async def reached(self, chats: Collection[ChatKey]) -> Mapping[ChatKey, Reached]:
        try:
            count = await asyncio.get_running_loop().run_in_executor(self._thread, self._partitions)
            # as `murmur2_random` in the publisher chooses
            places = {chat: murmur2(self._key_of(chat), count) for chat in chats}
            lags = await self._survey.ask([(self._topic, place) for place in sorted(set(places.values()))])
        except KafkaException as error:
            raise AwayError(f"Kafka: {words(error.args[0])}") from error
        found = {
            chat: lags[self._topic, place] for chat, place in places.items() if (self._topic, place) in lags
        }
        return {chat: Reached(lag.partition, lag.high, lag.committed) for chat, lag in found.items()}

    def _partitions(self) -> int:
        topic = self._looker.list_topics(self._topic, timeout=_ANSWER_S).topics[self._topic]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return len(topic.partitions)
