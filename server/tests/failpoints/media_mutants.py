"""Mutants of attachments: each breaks one rule of the order of steps, and `just storm-media` must catch every one."""

from collections.abc import Callable
from typing import Any, Final

from tidings.media.model import MediaFacts, Upload, UploadState
from tidings.media.store.uploads import DynamoUploadStore
from tidings.media.sweeper import MediaSweeper, SweepStats
from tidings.media.worker import MediaWorker
from tidings.messages.store import edits
from tidings.platform.dynamo.requests import Update


def deletes_the_original_first() -> None:
    """Delete the original of an image before the row refers to its clean copy."""
    honest = MediaWorker._store

    async def store(self: MediaWorker, upload: Upload, facts: MediaFacts, folder: Any) -> bool:
        if facts.is_clean:
            await self._objects.delete(upload.original)
            await self._deps.failpoints.hit("media.original_deleted")
        return await honest(self, upload, facts, folder)

    MediaWorker._store = store  # type: ignore[method-assign]


def expires_without_condition() -> None:
    """Delete an upload whose time has passed, although a message has attached it since it was read."""
    honest = DynamoUploadStore.change_state

    async def change_state(self: DynamoUploadStore, upload: Upload, to: UploadState) -> bool:
        now = await self.find(upload.tenant, upload.id)
        return await honest(self, now or upload, to)

    DynamoUploadStore.change_state = change_state  # type: ignore[method-assign]


def keeps_orphans() -> None:
    """Sweep without deleting objects that have no row."""

    async def settle_orphan(self: MediaSweeper, *_: object) -> None:
        del self

    MediaSweeper._settle_orphan = settle_orphan  # type: ignore[assignment,method-assign]


def trusts_its_listing() -> None:
    """Delete objects whose row was not listed, without reading the row again."""

    async def settle_orphan(
        self: MediaSweeper, _tenant: object, _upload: str, keys: Any, found: SweepStats
    ) -> None:
        for key in keys:
            await self._deps.objects.delete(key)
        found.orphans += len(keys)

    MediaSweeper._settle_orphan = settle_orphan  # type: ignore[assignment,method-assign]


def redacts_only_the_message() -> None:
    """Redact a message and leave its uploads as they are."""
    honest = edits._deleted

    def deleted(chat: Any, upload: str) -> Update:
        found = honest(chat, upload)
        return Update(table=found.table, key=found.key, update="SET redaction_seen = :t", values={":t": 1})

    edits._deleted = deleted


MEDIA_MUTANTS: Final[dict[str, Callable[[], None]]] = {
    each.__name__: each
    for each in (
        deletes_the_original_first,
        expires_without_condition,
        keeps_orphans,
        trusts_its_listing,
        redacts_only_the_message,
    )
}
