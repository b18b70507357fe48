"""The log in DynamoDB: written, read, changed; and Kafka told of it."""

from tidings.messages.store.changes import DynamoEditWriter
from tidings.messages.store.log import DynamoMessageLog
from tidings.messages.store.publishing import KafkaCommitPublisher
from tidings.messages.store.reactions import DynamoReactionWriter
from tidings.messages.store.reads import DynamoLogReader

__all__ = [
    "DynamoEditWriter",
    "DynamoLogReader",
    "DynamoMessageLog",
    "DynamoReactionWriter",
    "KafkaCommitPublisher",
]
