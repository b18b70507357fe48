"""Kafka: publish with an answer per message, consume partition by partition. Knows no subject.

`docs/explanation/kafka-client.md` says what is promised and which of Kafka's traps shaped it.
"""
