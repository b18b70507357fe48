"""Jobs in DynamoDB, and their way over Kafka."""

from tidings.jobs.store.due import DynamoDueJobs
from tidings.jobs.store.rows import RETENTION_DAYS, DynamoJobStore
from tidings.jobs.store.topic import CHUNK_GROUP, KafkaChunkPublisher, decode_chunk, kafka_key

__all__ = [
    "CHUNK_GROUP",
    "RETENTION_DAYS",
    "DynamoDueJobs",
    "DynamoJobStore",
    "KafkaChunkPublisher",
    "decode_chunk",
    "kafka_key",
]
