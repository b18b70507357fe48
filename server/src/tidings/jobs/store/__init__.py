"""Jobs in DynamoDB, and their way over Kafka."""

from tidings.jobs.store.due import DynamoDue
from tidings.jobs.store.rows import DynamoJobs
from tidings.jobs.store.topic import GROUP, KafkaChunks, decode

__all__ = ["GROUP", "DynamoDue", "DynamoJobs", "KafkaChunks", "decode"]
