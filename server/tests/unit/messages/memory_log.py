"""A log in memory, with the guarantees of the port; and a script of what goes wrong next."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, Seen, SendKey
from tidings.messages.ports import COMMITTED, KeyTaken, Occupied, Outcome, Row


@dataclass
class MemoryLog:
    entries: dict[ChatKey, list[Entry]] = field(default_factory=dict)
    keyed: dict[tuple[ChatKey, SendKey], Seen] = field(default_factory=dict)
    gate: asyncio.Event | None = None
    """While it is not set, appends wait before they are applied."""
    calls: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Taken from the front by each append: `lost` (applied, then unknown), `unapplied` (unknown), `overloaded`."""

    async def newest(self, chat: ChatKey) -> Entry | None:
        self.calls.append("newest")
        await asyncio.sleep(0)
        log = self.entries.get(chat)
        return log[-1] if log else None

    async def follow(self, chat: ChatKey, after: int) -> Sequence[Entry]:
        self.calls.append("follow")
        await asyncio.sleep(0)
        return self.entries[chat][after : after + 100]

    async def keys(self, chat: ChatKey, after: int, up_to: int) -> Sequence[tuple[SendKey, Seen]]:
        self.calls.append("keys")
        await asyncio.sleep(0)
        return [(e.key, Seen(e.sequence, e.fingerprint)) for e in self.entries[chat][after:up_to]]

    async def find_key(self, chat: ChatKey, key: SendKey) -> Seen | None:
        self.calls.append("find_key")
        await asyncio.sleep(0)
        return self.keyed.get((chat, key))

    async def append(
        self, chat: ChatKey, entries: Sequence[Entry], rows: Sequence[Row] = (), *, is_keyed: bool = False
    ) -> Outcome:
        del rows
        self.calls.append(f"append {len(entries)}")
        await (asyncio.sleep(0) if self.gate is None else self.gate.wait())
        failure = self.failures.pop(0) if self.failures else None
        if failure == "overloaded":
            raise TidingsError(Code.OVERLOADED, "scripted")
        if failure == "unapplied":
            raise TidingsError(Code.OUTCOME_UNKNOWN, "scripted")
        outcome = self.apply(chat, entries, is_keyed=is_keyed)
        if failure == "lost":
            raise TidingsError(Code.OUTCOME_UNKNOWN, "scripted")
        return outcome

    def apply(self, chat: ChatKey, entries: Sequence[Entry], *, is_keyed: bool = False) -> Outcome:
        log = self.entries.setdefault(chat, [])
        first = entries[0]
        if first.sequence <= len(log):
            return Occupied(log[first.sequence - 1])
        assert first.sequence == len(log) + 1, "nobody may write above the head"
        if is_keyed and (seen := self.keyed.get((chat, first.key))):
            return KeyTaken(seen)
        log.extend(entries)
        if is_keyed:
            self.keyed[chat, first.key] = Seen(first.sequence, first.fingerprint)
        return COMMITTED


@dataclass
class MemoryMembers:
    """Standing: True for a member. Changes only with an entry of the log, as in the real thing."""

    members: set[UserId] = field(default_factory=set)
    asked: int = 0

    async def standing(self, chat: ChatKey, user: UserId) -> bool:
        del chat
        self.asked += 1
        await asyncio.sleep(0)
        return user in self.members


class PlainSeal:
    def seal(self, chat: ChatKey, sequence: int, body: bytes) -> bytes:
        del chat
        return b"%d:" % sequence + body

    def unseal(self, chat: ChatKey, sequence: int, content: bytes) -> bytes:
        del chat
        return content.removeprefix(b"%d:" % sequence)
