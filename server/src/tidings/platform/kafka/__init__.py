"""Kafka client: publish with an acknowledgement per message, consume partition by partition.

docs/explanation/kafka-client.md describes its guarantees and the pitfalls of Kafka that it avoids.
"""
