"""The log in DynamoDB: written, read, changed; and Kafka told of it."""

from tidings.messages.store.changes import DynamoChanges
from tidings.messages.store.log import DynamoLog
from tidings.messages.store.publishing import KafkaPublishing
from tidings.messages.store.reactions import DynamoReactions
from tidings.messages.store.reads import DynamoReader

__all__ = ["DynamoChanges", "DynamoLog", "DynamoReactions", "DynamoReader", "KafkaPublishing"]
