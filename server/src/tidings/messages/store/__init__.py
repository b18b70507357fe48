"""The message log in DynamoDB, and its events in Kafka."""

from tidings.messages.store.edits import DynamoEditStore
from tidings.messages.store.erasure import DynamoLogEraser
from tidings.messages.store.expiry import DynamoLogExpiry
from tidings.messages.store.log import DynamoLogReader, DynamoMessageLog
from tidings.messages.store.publisher import KafkaCommitPublisher, decode_committed

__all__ = [
    "DynamoEditStore",
    "DynamoLogEraser",
    "DynamoLogExpiry",
    "DynamoLogReader",
    "DynamoMessageLog",
    "KafkaCommitPublisher",
    "decode_committed",
]
