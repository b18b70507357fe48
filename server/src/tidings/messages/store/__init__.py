"""The message log in DynamoDB, and its events in Kafka."""

from tidings.messages.store.edits import DynamoEditStore
from tidings.messages.store.log import DynamoLogReader, DynamoMessageLog
from tidings.messages.store.publisher import KafkaCommitPublisher, decode_committed

__all__ = [
    "DynamoEditStore",
    "DynamoLogReader",
    "DynamoMessageLog",
    "KafkaCommitPublisher",
    "decode_committed",
]
