"""Rows and heads of another epoch: after a restore or a failover they may be ahead of their log.

Tables are put back, or replicated, each by itself. So a row can know entries that its log lost. What the user set
(muted, pinned, archived) is believed; every sequence is compared with the log and cut to what is still in it. The row is
written back under the present epoch, so this happens once for each row and restore.
"""

from typing import Protocol

from msgspec.structs import replace

from tidings.delivery import rules
from tidings.delivery.model import Mark, News, Row
from tidings.delivery.store.items import OF_A_CHAT, OF_A_ROW, HeadNames, row_key
from tidings.kernel.epoch import Epoch
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry
from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.errors import ConditionFailedError, DynamoError
from tidings.platform.dynamo.outcomes import unwritten
from tidings.platform.dynamo.values import Value
from tidings.tables.items.chat import chat_key
from tidings.tables.patterns import delivery as patterns

_PARTS: dict[str, tuple[str, ...]] = {
    "joined": ("joined_sequence", "joined_ordinal", "joined_at"),
    "removed": ("removed_sequence",),
    "shown": (
        "preview_sequence",
        "preview_version",
        "last_at",
        "last_sender",
        "last_preview",
        "preview_expires_at",
    ),
}


class Log(Protocol):
    """Strong reads."""

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None: ...


class Settling:
    """An installation that was never restored is of epoch 0, and its rows carry none: nothing is compared."""

    def __init__(self, client: Client, log: Log, epoch: Epoch) -> None:
        self._client = client
        self._log = log
        self.epoch = epoch

    async def row(self, chat: ChatKey, user: UserId, row: Row) -> Row:
        """Return the row as the log allows, and write it back unless somebody else has changed it meanwhile."""
        epoch = self.epoch()
        if not epoch or row.known.epoch == epoch:
            return row
        last = await self._last_before(chat, epoch, rules.furthest(row))
        settled = row if last is None else rules.cut(row, last)
        settled = replace(settled, known=replace(settled.known, epoch=epoch))
        await self._write(patterns.SETTLE_ROW, row_key(chat, user), row, settled, OF_A_ROW)
        return settled

    async def head(self, chat: ChatKey, head: News) -> News:
        """As `row`, for the head of a large chat."""
        epoch, row = self.epoch(), Row(chat=chat.chat, known=head)
        if not epoch or head.epoch == epoch:
            return head
        last = await self._last_before(chat, epoch, rules.furthest(row))
        settled = row if last is None else rules.cut(row, last)
        settled = replace(settled, known=replace(settled.known, epoch=epoch))
        await self._write(patterns.SETTLE_HEAD, {"chat_id": chat_key(chat)}, row, settled, OF_A_CHAT)
        return settled.known

    async def _last_before(self, chat: ChatKey, epoch: int, furthest: int) -> Mark | None:
        """Find the last entry that was written before this epoch. None: the row's furthest sequence is not above it.

        Of a chat in which nothing was lost this is one read. Otherwise it halves what lies below: entries of this epoch
        are all above those of earlier ones.
        """
        if not furthest or await self._was_before(chat, epoch, furthest) is not None:
            return None
        low, high, last = 0, furthest, Mark(0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            entry = await self._was_before(chat, epoch, middle)
            if entry is None:
                high = middle
            else:
                low, last = middle, Mark(entry.sequence, entry.ordinal)
        return last

    async def _was_before(self, chat: ChatKey, epoch: int, sequence: int) -> Entry | None:
        entry = await self._log.one(chat, sequence)
        return entry if entry is not None and entry.epoch != epoch else None

    async def _write(
        self, pattern: AccessPattern, key: dict[str, Value], was: Row, now: Row, names: HeadNames
    ) -> None:
        sets: dict[str, Value] = {"epoch": now.known.epoch}
        removes: list[str] = []
        old: dict[str, Value | None] = {
            "epoch": was.known.epoch or None,
            names.sequence: was.known.head.sequence if was.known.head else None,
        }
        marks = (
            (names.sequence, names.ordinal, was.known.head, now.known.head),
            ("own_sequence", "own_ordinal", was.known.own, now.known.own),
            ("last_acked_sequence", "last_acked_ordinal", was.delivered, now.delivered),
            ("last_read_sequence", "read_ordinal", was.read, now.read),
        )
        for sequence, ordinal, before, mark in marks:
            if before is not None and mark is not None and mark != before:
                old[sequence] = before.sequence
                sets[sequence], sets[ordinal] = mark
        for part, attributes in _PARTS.items():
            if getattr(was.known, part) is not None and getattr(now.known, part) is None:
                removes += attributes
        try:
            await self._update(pattern, key, sets, removes, old)
        except ConditionFailedError:
            return  # A worker or another reader was quicker; whoever looks next settles what is left.
        except DynamoError as error:
            unwritten(error)

    async def _update(
        self,
        pattern: AccessPattern,
        key: dict[str, Value],
        sets: dict[str, Value],
        removes: list[str],
        old: dict[str, Value | None],
    ) -> None:
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        if removes:
            update += " REMOVE " + ", ".join(f"#{name}" for name in removes)
        held = [
            f"#{n} = :old_{n}" if v is not None else f"attribute_not_exists(#{n})" for n, v in old.items()
        ]
        values = {f":{name}": value for name, value in sets.items()}
        values |= {f":old_{name}": value for name, value in old.items() if value is not None}
        await self._client.update(
            pattern,
            key,
            update,
            condition=" AND ".join(held),
            names={f"#{name}": name for name in (*sets, *removes, *old)},
            values=values,
            repeatable=True,
        )
