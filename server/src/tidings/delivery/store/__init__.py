"""Chat-list rows, heads of large chats, watermarks and the pending queue in DynamoDB; who is away, to Kafka."""

from tidings.delivery.store.lists import DynamoLists
from tidings.delivery.store.pending import DynamoPending
from tidings.delivery.store.settling import Settling
from tidings.delivery.store.truth import DynamoTruth
from tidings.delivery.store.unreached import KafkaUnreached
from tidings.delivery.store.watermarks import DynamoWatermarks

__all__ = ["DynamoLists", "DynamoPending", "DynamoTruth", "DynamoWatermarks", "KafkaUnreached", "Settling"]
