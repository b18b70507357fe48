"""A push, opened and encoded once for all devices of a process that get it.

Two forms of each entry, because the sender's own devices see their `client_message_id`; and of a change two more,
because who came in after a message may see that it was changed, but not what it says.
"""

from collections.abc import Sequence
from typing import Protocol, final

from tidings.gateway.entries import entry_push_frame, referenced_messages
from tidings.gateway.ports import HistoryReading
from tidings.kernel.ids import ChatId, UserId
from tidings.messages.history import VisibleEntry
from tidings.messages.model import Entry
from tidings.routing.model import Push
from tidings.wire.codec import encode_push


class RenderPush(Protocol):
    async def __call__(self, push: Push, /) -> "Sequence[RenderedEntry]": ...


@final
class RenderedEntry:
    """One entry of a push. Its frames are made when they are first asked for, and then shared."""

    __slots__ = ("_changed", "_chat", "_frames", "_shown", "entry", "refers_to")

    def __init__(self, chat: ChatId, shown: VisibleEntry, changed: VisibleEntry | None) -> None:
        self.entry: Entry = shown.entry
        self.refers_to = 0 if changed is None else changed.entry.sequence
        self._chat = chat
        self._shown = shown
        self._changed = changed
        self._frames: dict[tuple[bool, bool], bytes] = {}

    def frame(self, user: UserId, since: int) -> bytes:
        """For a user who is in the chat since `since`."""
        is_own = user == self.entry.sender
        sees = self.refers_to >= since
        found = self._frames.get((is_own, sees))
        if found is None:
            changed = self._changed if sees else None
            found = encode_push(entry_push_frame(self._chat, self._shown, is_own=is_own, changed=changed))
            self._frames[is_own, sees] = found
        return found


@final
class PushRenderer:
    def __init__(self, history: HistoryReading) -> None:
        self._history = history

    async def __call__(self, push: Push, /) -> Sequence[RenderedEntry]:
        """Changed messages are read anew each time, never kept: what they say may be gone by the next push."""
        shown = await self._history.show(push.key, push.entries)
        changed = await self._history.now(push.key, referenced_messages(push.entries))
        return [RenderedEntry(push.chat, each, changed.get(each.entry.refers_to or 0)) for each in shown]
