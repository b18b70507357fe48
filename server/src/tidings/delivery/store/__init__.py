"""Chat-list rows, heads of large chats, watermarks and the pending queue in DynamoDB; who is away, to Kafka."""

from tidings.delivery.store.lists import DynamoChatRowReader
from tidings.delivery.store.pending import DynamoOfflineQueue
from tidings.delivery.store.settling import EpochReconciler
from tidings.delivery.store.truth import DynamoChatRowWriter
from tidings.delivery.store.unreached import KafkaOfflineEvents
from tidings.delivery.store.watermarks import DynamoWatermarkStore

__all__ = [
    "DynamoChatRowReader",
    "DynamoChatRowWriter",
    "DynamoOfflineQueue",
    "DynamoWatermarkStore",
    "EpochReconciler",
    "KafkaOfflineEvents",
]
