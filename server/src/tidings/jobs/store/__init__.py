"""Jobs in DynamoDB, and their way over Kafka."""

from tidings.jobs.store.due import DynamoDue
from tidings.jobs.store.rows import KEPT_DAYS, DynamoJobs
from tidings.jobs.store.topic import GROUP, KafkaChunks, decode, kafka_key

__all__ = ["GROUP", "KEPT_DAYS", "DynamoDue", "DynamoJobs", "KafkaChunks", "decode", "kafka_key"]
