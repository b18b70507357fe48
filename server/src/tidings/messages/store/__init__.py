"""The message log in DynamoDB, and its events in Kafka."""

from tidings.messages.store.edits import DynamoEditStore
from tidings.messages.store.log import DynamoMessageLog
from tidings.messages.store.publisher import KafkaCommitPublisher
from tidings.messages.store.reader import DynamoLogReader

__all__ = ["DynamoEditStore", "DynamoLogReader", "DynamoMessageLog", "KafkaCommitPublisher"]
