"""The DynamoDB tables and their access patterns, declared once as data."""
