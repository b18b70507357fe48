"""The DynamoDB tables and how they are used, declared once as data."""
