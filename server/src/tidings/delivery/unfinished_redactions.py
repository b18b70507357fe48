"""Redactions that a restore or failover has left unfinished.

A redaction is committed together with the change of its message, and the delivery worker deletes reactions and
attachments after it. But global tables replicate each item on its own, and a restore each table. So the log can have the
entry of a redaction while the message still has its text.
"""

from collections.abc import Sequence

from tidings.delivery.offline import OfflineQueueRedactor
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import EditStore, LogReader, PastLogReader


class UnfinishedRedactions:
    def __init__(
        self, past: PastLogReader, log: LogReader, edits: EditStore, redactor: OfflineQueueRedactor
    ) -> None:
        self._past = past
        self._log = log
        self._edits = edits
        self._redactor = redactor

    async def find(self, chat: ChatKey) -> Sequence[int]:
        """Return the sequences of redacted messages that still have their text.

        Reads the redactions of the last hour before the restore or failover.
        """
        return _with_text(await self._redacted(chat))

    async def finish(self, chat: ChatKey) -> Sequence[int]:
        """Remove what is left of redacted messages, their reactions and attachments. Idempotent.

        Return the sequences of those that still had their text.
        """
        redacted = await self._redacted(chat)
        for entry, message in redacted:
            if message.redacted_at_ms is None:
                await self._edits.finish_redaction(chat, message, entry.created_at_ms)
            await self._redactor.redact(chat, [entry])
        return _with_text(redacted)

    async def _redacted(self, chat: ChatKey) -> Sequence[tuple[Entry, Entry]]:
        """Return each redaction and its message. Before the first restore there is none to examine."""
        if not self._past.epoch():
            return []
        found = list[tuple[Entry, Entry]]()
        for entry in (await self._past.end(chat)).changes:
            if entry.kind is EntryKind.REDACTION and entry.refers_to is not None:
                message = await self._log.one(chat, entry.refers_to)
                if message is not None:
                    found.append((entry, message))
        return found


def _with_text(redacted: Sequence[tuple[Entry, Entry]]) -> Sequence[int]:
    return [message.sequence for _, message in redacted if message.redacted_at_ms is None]
