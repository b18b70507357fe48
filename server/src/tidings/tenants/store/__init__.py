"""The table `tenants`: wrapped keys, settings."""

from tidings.tenants.store.keys import DynamoKeyStore
from tidings.tenants.store.settings import DynamoTenantStore

__all__ = ["DynamoKeyStore", "DynamoTenantStore"]
