"""Make the events of log entries."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import LogReader
from tidings.webhooks import rules
from tidings.webhooks.model import WebhookEvent
from tidings.webhooks.ports import EntryView

_ABOUT_A_MESSAGE = frozenset({EntryKind.EDIT, EntryKind.REDACTION, EntryKind.REACTION})
_encode = msgspec.json.Encoder().encode


class LogEvents:
    """Events show entries as they are now: an event of a message that was redacted meanwhile has no content."""

    def __init__(self, log: LogReader, view: EntryView) -> None:
        self._log = log
        self._view = view

    async def of(self, chat: ChatKey, entries: Sequence[Entry]) -> list[WebhookEvent]:
        """Return the event of each entry, in order. An edit, redaction or reaction includes its message."""
        shown = await self._view.show(chat, entries)
        about = {
            entry.refers_to
            for entry in entries
            if entry.kind in _ABOUT_A_MESSAGE and entry.refers_to is not None
        }
        messages = await self._view.now(chat, about) if about else {}
        return [
            _event(chat, entry, fields, messages.get(entry.refers_to or 0))
            for entry, fields in zip(entries, shown, strict=True)
        ]

    async def between(self, chat: ChatKey, first: int, last: int) -> list[WebhookEvent]:
        """Read entries from the log and return their events: one page, at least one if there is any."""
        entries = await self._log.between(chat, first - 1, last)
        return await self.of(chat, entries) if entries else []


def _event(
    chat: ChatKey, entry: Entry, fields: dict[str, Any], message: dict[str, Any] | None
) -> WebhookEvent:
    event, kind = rules.event_id(chat, entry.sequence), rules.event_type(entry.kind)
    data: dict[str, Any] = {"chat": chat.chat, "entry": fields}
    if message is not None and entry.kind in _ABOUT_A_MESSAGE:
        data["message"] = message
    body = {"id": event, "type": kind, "timestamp": format_ms(entry.created_at_ms), "data": data}
    return WebhookEvent(
        id=event,
        type=kind,
        at_ms=entry.created_at_ms,
        body=_encode(body),
        chat=chat.chat,
        sequence=entry.sequence,
    )
