"""The Kafka topics, declared once as data; how they differ from what stands, and how they are made so."""
