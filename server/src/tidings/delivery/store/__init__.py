"""Chat-list rows, heads of large chats and watermarks in DynamoDB."""

from tidings.delivery.store.lists import DynamoLists
from tidings.delivery.store.truth import DynamoTruth
from tidings.delivery.store.watermarks import DynamoWatermarks

__all__ = ["DynamoLists", "DynamoTruth", "DynamoWatermarks"]
