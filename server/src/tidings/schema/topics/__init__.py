"""The Kafka topics, declared once as data, and their comparison with the existing ones."""
