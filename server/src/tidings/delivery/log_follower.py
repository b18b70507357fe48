"""Follow the log by the topic `messages`, for consumers other than delivery: find the entries that Kafka lacks."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from tidings.connections.model import LookupResult
from tidings.delivery.backlog import LOOK_BACK_ENTRIES, recent_entries
from tidings.delivery.ports import DeliveryCheckpoints
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader

_log = logging.getLogger(__name__)

_MAX_KNOWN_CHATS: Final = 100_000


class LogFollower:
    """`checkpoints` are those of this consumer."""

    def __init__(self, log: LogReader, checkpoints: DeliveryCheckpoints) -> None:
        self._entries = log
        self._checkpoints = checkpoints
        self._progress: OrderedDict[ChatKey, int] = OrderedDict()

    async def progress(self, chats: Mapping[ChatKey, Sequence[Entry]]) -> Mapping[ChatKey, int]:
        asked = [
            chat for chat, entries in chats.items() if self._progress.get(chat, 0) < entries[0].sequence - 1
        ]
        read = await self._checkpoints.read(asked) if asked else LookupResult[ChatKey, int]({})
        return {chat: max(self._progress.get(chat, 0), read.found.get(chat, 0)) for chat in chats}

    async def fill_gaps(self, chat: ChatKey, done: int, entries: Sequence[Entry]) -> list[Entry]:
        filled = await self._recent_before(chat, entries[0]) if not done else []
        for entry in entries:
            at = filled[-1].sequence if filled else done
            while at and at < entry.sequence - 1:
                page = await self._entries.between(chat, at, entry.sequence - 1)
                if not page:
                    break
                filled += page
                at = page[-1].sequence
            filled.append(entry)
        return filled

    async def _recent_before(self, chat: ChatKey, first: Entry) -> list[Entry]:
        if first.sequence == 1:
            return []
        end = first.sequence - 1
        return recent_entries(await self._entries.between(chat, max(0, end - LOOK_BACK_ENTRIES), end), first)

    async def advance(self, chats: Mapping[ChatKey, Sequence[Entry]]) -> None:
        for chat, entries in chats.items():
            self._progress[chat] = max(self._progress.get(chat, 0), entries[-1].sequence)
            self._progress.move_to_end(chat)
        while len(self._progress) > _MAX_KNOWN_CHATS:
            self._progress.popitem(last=False)
        try:
            await gather_limited(self._checkpoints.advance(chat, 1, self._progress[chat]) for chat in chats)
        except UnavailableError as error:
            _log.warning("checkpoints could not be written: %s", error)
