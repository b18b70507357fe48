"""DynamoDB adapters of accounts."""
