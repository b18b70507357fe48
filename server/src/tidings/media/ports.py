"""Ports of attachments: the table, the bucket, and the tasks of the media worker."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.media.model import CheckState, MediaFacts, MediaTask, ScanResult, Upload, UploadState

type CheckSend = Callable[[ChatKey, UserId], Awaitable[Code | None]]
"""Returns why a user may not send to a chat, or None if they may."""


type ReadAttachments = Callable[[ChatKey, UserId, int], Awaitable[Sequence[str]]]
"""Returns the uploads of a message that a user may read now; none if it was redacted or has expired. Raises `message_not_found`."""


class UploadStore(Protocol):
    """The rows of uploads. Reads are strongly consistent."""

    async def create(self, upload: Upload, /) -> None:
        """Write a row and count its bytes; atomic."""
        ...

    async def find(self, tenant: TenantId, upload: str, /) -> Upload | None: ...

    async def find_many(self, tenant: TenantId, uploads: Collection[str], /) -> Mapping[str, Upload]: ...

    async def total_bytes(self, tenant: TenantId, /) -> int:
        """Return the bytes of all uploads of a tenant."""
        ...

    async def change_state(self, upload: Upload, to: UploadState, /) -> bool:
        """Change the state if it is still that of `upload`; atomic. False: it has changed. Repeatable."""
        ...

    async def record_facts(self, upload: Upload, check: CheckState, facts: MediaFacts, /) -> bool:
        """Record the first result of processing. Repeatable.

        False: there is another result, or the upload is being deleted or does not exist.
        """
        ...

    async def delete(self, upload: Upload, /) -> bool:
        """Delete a row that is `DELETING`, and uncount its bytes; atomic. False: it does not exist. Repeatable."""
        ...

    def list_shard(self, tenant: TenantId, shard: int, /) -> AsyncIterator[Upload]:
        """Yield the uploads of a partition in the order of their ids."""
        ...


class UploadPage(NamedTuple):
    """`after`: where the next page starts; None after the last one."""

    uploads: Sequence[Upload]
    after: str | None


class OwnedUploads(Protocol):
    """The uploads of a tenant, for the erasure of a user. Reads are strongly consistent."""

    @property
    def shards(self) -> int: ...

    async def page(self, tenant: TenantId, shard: int, after: str, /) -> UploadPage:
        """Return uploads of a partition in the order of their ids. `after`: that of the page before, or empty."""
        ...

    async def change_state(self, upload: Upload, to: UploadState, /) -> bool:
        """As in `UploadStore`."""
        ...


class StoredPart(Protocol):
    @property
    def number(self) -> int: ...

    @property
    def size(self) -> int: ...


class OpenMultipart(Protocol):
    @property
    def key(self) -> str: ...

    @property
    def upload_id(self) -> str: ...


class ObjectStore(Protocol):
    """The bucket. Raises `UnavailableError`."""

    def presign(
        self,
        method: str,
        key: str,
        life_s: int,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> str: ...

    async def size_of(self, key: str) -> int | None: ...

    def read(self, key: str) -> AsyncIterator[bytes]: ...

    async def put(self, key: str, body: bytes, content_type: str) -> None: ...

    async def delete(self, key: str) -> None: ...

    def keys(self, prefix: str) -> AsyncIterator[str]: ...

    async def start_multipart(self, key: str, content_type: str) -> str: ...

    async def put_part(self, key: str, upload_id: str, number: int, body: bytes, sha256: str) -> None: ...

    async def parts(self, key: str, upload_id: str) -> Sequence[StoredPart] | None: ...

    async def complete_multipart(self, key: str, upload_id: str, sums: Mapping[int, str]) -> None: ...

    async def abort_multipart(self, key: str, upload_id: str) -> None: ...

    def open_multiparts(self, prefix: str) -> AsyncIterator[OpenMultipart]: ...


class FileStore(Protocol):
    """The bucket, for files of this machine. Raises `UnavailableError`."""

    async def put_file(self, key: str, path: Path, *, size: int, sha256: str, content_type: str) -> None: ...


class FileScanner(Protocol):
    async def check(self, path: Path, /) -> ScanResult:
        """Look for malware. Raises `UnavailableError` if the scanner does not answer."""
        ...


class MediaTaskPublisher(Protocol):
    async def publish(self, task: MediaTask, /) -> None:
        """Publish a task and wait for Kafka. Raises `overloaded`."""
        ...

    def publish_soon(self, task: MediaTask, /) -> None:
        """Publish a task without waiting. The sweeper finds what Kafka did not accept."""
        ...


class SweepLease(Protocol):
    """The right to sweep. One process has it, and loses it when it does not renew it for a time."""

    @property
    def is_held(self) -> bool: ...

    @property
    def finished_at_ms(self) -> int | None:
        """When a process finished the last sweep, as far as `take` has read."""
        ...

    async def take(self) -> bool:
        """Become or remain the process that sweeps. Writes only if half of the lease has passed. False: another one is."""
        ...

    async def finish(self, next_ms: int, /) -> None:
        """Record that a sweep is finished. No process takes the lease before `next_ms`."""
        ...
