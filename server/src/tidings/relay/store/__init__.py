"""The relay's engines: the stream, the leases, and how far Kafka's consumers are."""

from tidings.relay.store.books import DynamoBooks
from tidings.relay.store.consumers import KafkaConsumers
from tidings.relay.store.feed import StreamFeed
from tidings.relay.store.leases import DynamoLeases

__all__ = ["DynamoBooks", "DynamoLeases", "KafkaConsumers", "StreamFeed"]
