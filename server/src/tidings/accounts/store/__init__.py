"""Accounts in DynamoDB."""

from tidings.accounts.store.api_keys import DynamoApiKeyStore
from tidings.accounts.store.signing_keys import DynamoSigningKeyStore

__all__ = ["DynamoApiKeyStore", "DynamoSigningKeyStore"]
