"""Mutants of attachments: each breaks one rule on purpose, and `just storm-media` must catch every one."""

from collections.abc import Callable
from typing import Any, Final

from tidings.media.model import MediaFacts, Upload
from tidings.media.store import uploads
from tidings.media.sweeper import MediaSweeper
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


def keeps_orphans() -> None:
    """Sweep without deleting objects that have no row."""

    async def settle_orphan(self: MediaSweeper, *_: object) -> None:
        del self

    MediaSweeper._settle_orphan = settle_orphan  # type: ignore[assignment,method-assign]


def forgets_the_total() -> None:
    """Delete the row of an upload, and leave its bytes in the total of the tenant."""
    honest = uploads._count

    def count(upload: Upload, size: int) -> Update:
        return honest(upload, max(size, 0))

    uploads._count = count


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
        keeps_orphans,
        forgets_the_total,
        redacts_only_the_message,
    )
}
