"""A client for DynamoDB and its streams. See docs/explanation/dynamodb-client.md."""
