"""Ports of the archive: the format of a part, and the deletion of the archive of a tenant."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tidings.kernel.ids import TenantId
from tidings.retention.archive.model import ArchivedRow


class PartFormat(NamedTuple):
    """Parquet, if the extra `archive` is installed. Both functions need the processor: call them in a thread."""

    encode: Callable[[Sequence[ArchivedRow]], bytes]
    decode: Callable[[bytes], list[ArchivedRow]]


class TenantArchive(Protocol):
    async def delete_tenant(self, tenant: TenantId, /) -> int:
        """Delete the archive of a tenant, and return the number of objects. Idempotent."""
        ...
