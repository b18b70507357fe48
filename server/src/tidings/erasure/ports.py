"""Ports of erasures. Each method states what it guarantees."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

from tidings.audit.model import AdminAction
from tidings.erasure.certificate import Certificate
from tidings.erasure.model import Erasure, StepProgress
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId

type StepAction = Callable[[Erasure], Awaitable[StepProgress]]
"""Does one page of a step. Idempotent: a page that was done before changes nothing and counts the same."""
type NeedsApproval = Callable[[TenantId], Awaitable[bool]]
"""Returns whether a second approver must approve erasures of this tenant. Strongly consistent."""
type IsKnownUser = Callable[[TenantId, UserId], Awaitable[bool]]
"""Returns whether the tenant has this user, or a chat with them: a server may act for users who never authenticated."""
type EraseDocuments = Callable[[Erasure], Awaitable[bool]]
"""Has the search process delete the documents of the user. True: it is done, and the files are purged. Idempotent."""
type SignCertificate = Callable[[Certificate], Awaitable[str]]
"""Signs a certificate with the key of the installation. Raises `keys_unavailable`."""
type Depart = Callable[[ChatKey, UserId, ClientKey], Awaitable[None]]
"""Leaves a group, or blocks the other user of a direct chat. Idempotent."""


class ActionLog(Protocol):
    """The audit log."""

    def action(self, action: AdminAction, /) -> AbstractAsyncContextManager[None]:
        """Record the action of the block. Raises, without running the block, if its start cannot be recorded."""
        ...


class ErasurePage(NamedTuple):
    """`before` is the cursor of the next page; None: there is none."""

    erasures: Sequence[Erasure]
    before: str | None


class ErasureStore(Protocol):
    """Erasures by user. `read` is strongly consistent."""

    async def create(self, erasure: Erasure, replaced: Erasure | None, /) -> Erasure:
        """Store a new erasure and list it, if none is stored but `replaced`. Returns the stored one: this or another. Atomic.

        Restores repeat the listed erasures, except those that wait for an approval.
        """
        ...

    async def approve(self, erasure: Erasure, /) -> bool:
        """Store an approved erasure as `save` does, and let restores repeat it from now on. Atomic."""
        ...

    async def listed(self, tenant: TenantId, limit: int, before: str | None, /) -> ErasurePage:
        """Return the erasures of users of a tenant, newest request first."""
        ...

    async def read(self, tenant: TenantId, user: UserId, /) -> Erasure | None: ...

    async def save(self, erasure: Erasure, /) -> bool:
        """Store the next version. False: another worker has stored it; nothing was written."""
        ...


type RowKey = Mapping[str, Any]


class TenantRows(Protocol):
    """All rows of a tenant that is deleted, as stored. Every call can be repeated."""

    async def list(
        self, table: str, partition: str, limit: int, /, *, prefix: str = "", after: RowKey | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return rows of a partition whose sort key has a prefix. Strongly consistent."""
        ...

    async def list_index(
        self, table: str, index: str, partition: str, limit: int, /, *, after: RowKey | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Return rows of an index. It may lack the last seconds, and have rows that were deleted."""
        ...

    async def delete(self, table: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Delete rows by the key attributes that they have."""
        ...

    async def add_to_directory(self, tenant: TenantId, user: UserId, /) -> None:
        """Add a user to the directory of users, or replace their item there."""
        ...
