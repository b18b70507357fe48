"""Index the messages of a chat from its log, for a rebuild and for chats that the index lacks."""

from typing import Final

from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey
from tidings.messages.model import EntryKind
from tidings.messages.ports import LogReader
from tidings.search import rules
from tidings.search.model import MessageRef
from tidings.search.ports import MessageTexts, SearchIndex

_PAGE_ENTRIES: Final = 500
END: Final = 10**15 - 1
"""A sequence after all entries."""


class ChatIndexer:
    def __init__(
        self, log: LogReader, texts: MessageTexts, index: SearchIndex, failpoints: Failpoints
    ) -> None:
        self._log = log
        self._texts = texts
        self._index = index
        self._failpoints = failpoints

    async def index(self, chat: ChatKey, up_to: int = END) -> None:
        """Index the present state of all messages of a chat, up to a sequence. Idempotent."""
        # Race: a message is redacted after it is read here, and the indexer removes it before the page is applied. The
        # document has the version of the message, which is lower than that of the redaction, so the index refuses it.
        at = 0
        while at < up_to and (
            page := await self._log.range(chat, at, up_to, _PAGE_ENTRIES, newest_first=False)
        ):
            at = page[-1].sequence
            messages = [entry for entry in page if entry.kind is EntryKind.MESSAGE]
            if messages:
                shown = await self._texts.show(chat, messages)
                await self._failpoints.hit("search.read")
                await self._index.apply(
                    [
                        rules.index_change(MessageRef(chat, each.entry.sequence), each, each.entry.sequence)
                        for each in shown
                    ]
                )
