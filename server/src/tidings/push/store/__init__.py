"""Stores of push notifications in DynamoDB."""
