"""Accounts in DynamoDB: a file for each kind of row."""
