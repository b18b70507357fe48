"""Kafka, DynamoDB and Valkey on this machine, for development and tests. Not used in production."""
