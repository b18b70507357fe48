"""The log in DynamoDB: written, read, changed; and Kafka told of it."""

from tidings.messages.store.log import DynamoEditWriter, DynamoMessageLog
from tidings.messages.store.publisher import KafkaCommitPublisher
from tidings.messages.store.reader import DynamoLogReader, DynamoReactionWriter

__all__ = [
    "DynamoEditWriter",
    "DynamoLogReader",
    "DynamoMessageLog",
    "DynamoReactionWriter",
    "KafkaCommitPublisher",
]
