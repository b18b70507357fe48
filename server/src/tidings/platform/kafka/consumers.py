"""Ask the brokers how far the consumers of a topic are, by the keys of its events."""

from collections.abc import Callable, Collection, Hashable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.cimpl import murmur2

from tidings.kernel.fences import ConsumersUnavailableError, PartitionProgress
from tidings.platform.kafka.connection import KafkaConfig
from tidings.platform.kafka.errors import error_text
from tidings.platform.kafka.lag import LagProbe


class KafkaConsumerLag[K: Hashable]:
    """`key_of` gives the key under which the events of a K are published."""

    def __init__(
        self, connection: KafkaConfig, *, topic: str, group: str, key_of: Callable[[K], bytes]
    ) -> None:
        self._topic = connection.topic(topic)
        self._survey = LagProbe(connection, connection.group(group), [self._topic])
        self._key_of = key_of

    def close(self) -> None:
        self._survey.close()

    async def progress(self, wanted: Collection[K]) -> Mapping[K, PartitionProgress]:
        """Ask for the partitions of these alone. Raises `ConsumersUnavailableError`."""
        try:
            count = await self._survey.partitions(self._topic)
            # As `murmur2_random`, the publisher's partitioner, chooses.
            places = {each: murmur2(self._key_of(each), count) for each in wanted}
            lags = await self._survey.ask([(self._topic, place) for place in sorted(set(places.values()))])
        except KafkaException as error:
            raise ConsumersUnavailableError(f"Kafka: {error_text(error.args[0])}") from error
        found = {
            each: lags[self._topic, place] for each, place in places.items() if (self._topic, place) in lags
        }
        return {
            each: PartitionProgress(lag.partition, lag.high, lag.committed) for each, lag in found.items()
        }
