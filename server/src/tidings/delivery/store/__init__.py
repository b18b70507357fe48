"""Chat rows, heads, watermarks and the offline queue in DynamoDB; offline events in Kafka."""

from tidings.delivery.store.chat_row_writer import DynamoChatRowWriter
from tidings.delivery.store.chat_rows import DynamoChatRowReader, DynamoWatermarkStore
from tidings.delivery.store.epoch_reconciler import EpochReconciler
from tidings.delivery.store.erasure import DynamoDeliveryEraser
from tidings.delivery.store.offline_checks import KafkaOfflineChecks
from tidings.delivery.store.offline_queue import DynamoOfflineQueue, KafkaOfflineEvents

__all__ = [
    "DynamoChatRowReader",
    "DynamoChatRowWriter",
    "DynamoDeliveryEraser",
    "DynamoOfflineQueue",
    "DynamoWatermarkStore",
    "EpochReconciler",
    "KafkaOfflineChecks",
    "KafkaOfflineEvents",
]
