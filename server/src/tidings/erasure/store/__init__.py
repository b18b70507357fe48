"""The progress of erasures, and the rows of a tenant that is deleted."""

from tidings.erasure.store.progress import DynamoErasureStore
from tidings.erasure.store.tenant_rows import DynamoTenantRows

__all__ = ["DynamoErasureStore", "DynamoTenantRows"]
