"""Kafka, DynamoDB and Valkey on this machine, for development and tests. Nothing here runs in production."""
