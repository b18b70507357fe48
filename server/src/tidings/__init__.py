"""Tidings: durable chat and a notification inbox per user, on DynamoDB, Kafka and Redis."""
