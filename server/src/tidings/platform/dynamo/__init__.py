"""DynamoDB's data plane: a client of our own. See docs/explanation/dynamodb-client.md."""
