"""The outbox: messages in order for each chat, and the meaning of answers. The only I/O is writing to the store.

A row is stored before its first try, with the key and the `after` of all its tries. `after` is None before the first.
"""

from collections import deque
from typing import Final, NamedTuple, final

from tidings_sdk.errors import OutboxFull
from tidings_sdk.stores.store import OutboxEntry, Store
from tidings_wire.frames.history import Entry
from tidings_wire.frames.messages import CommitResult, Send
from tidings_wire.frames.structs import Body, ErrorBody

MAX_FAILURES: Final = 5
"""How often the server may answer a row with `internal` before the row fails, so that later rows are sent."""


class Accepted(NamedTuple):
    sequence: int
    is_repeat: bool


class RetryLater(NamedTuple):
    """Send the same frame after this delay or the backoff. `is_failure`: the server had an internal error."""

    retry_after_ms: int | None = None
    is_failure: bool = False


class CatchUpFirst(NamedTuple):
    """Read the entries since `after` first."""


class Rejected(NamedTuple):
    error: ErrorBody


type SendDecision = Accepted | RetryLater | CatchUpFirst | Rejected

_NOT_ABOUT_THE_ROW: Final = frozenset({"credential_expired", "credential_invalid"})
"""These errors end the connection. The row waits for the next one."""


def decide_send(answer: Body, failures: int) -> SendDecision:
    """Decide what an answer means for a row. `failures`: how often the server answered the row with `internal`."""
    if isinstance(answer, CommitResult):
        return Accepted(answer.sequence, answer.is_repeat)
    if not isinstance(answer, ErrorBody):
        return RetryLater()
    if answer.code == "position_too_old":
        return CatchUpFirst()
    if answer.code == "internal" and failures < MAX_FAILURES:
        return RetryLater(answer.retry_after_ms, is_failure=True)
    if answer.retryable or answer.code in _NOT_ABOUT_THE_ROW:
        return RetryLater(answer.retry_after_ms)
    return Rejected(answer)


class FoundInLog(NamedTuple):
    sequence: int


class MembershipEnded(NamedTuple):
    """The user's right to send ended. Tries from before are refused, so `after` must not be raised over this entry."""

    entry: Entry


def find_in_log(
    row: OutboxEntry, user: str, entries: tuple[Entry, ...]
) -> FoundInLog | MembershipEnded | None:
    """Search entries for the key of a row, or the end of the membership. The one with the lower sequence counts."""
    for entry in sorted(entries, key=lambda e: e.sequence):
        if entry.client_message_id == row.key and entry.by == user:
            return FoundInLog(entry.sequence)
        if _ends(row, user, entry):
            return MembershipEnded(entry)
    return None


def _ends(row: OutboxEntry, user: str, entry: Entry) -> bool:
    if entry.kind in ("leave", "join"):
        return user in entry.users or (entry.kind == "leave" and not entry.users and entry.by == user)
    if entry.kind == "role":
        return user in entry.users and not isinstance(row.request, Send)
    if entry.kind == "mute":
        return user in entry.users
    return entry.kind in ("block", "rules")


@final
class Outbox:
    def __init__(self, store: Store, rows: list[OutboxEntry], max_rows: int) -> None:
        self._store = store
        self._max_rows = max_rows
        self._chats: dict[str, deque[OutboxEntry]] = {}
        for row in rows:
            self._chats.setdefault(row.chat, deque()).append(row)

    def __len__(self) -> int:
        return sum(map(len, self._chats.values()))

    @property
    def chats(self) -> list[str]:
        return list(self._chats)

    def is_empty(self, chat: str) -> bool:
        return chat not in self._chats

    def first(self, chat: str) -> OutboxEntry | None:
        rows = self._chats.get(chat)
        return rows[0] if rows else None

    def add(self, row: OutboxEntry) -> None:
        """Add a row. It is stored when this returns. Raises `OutboxFull`."""
        if len(self) >= self._max_rows:
            raise OutboxFull(f"The outbox is full: {self._max_rows} messages are waiting.")
        self._store.add(row)
        self._chats.setdefault(row.chat, deque()).append(row)

    def change_first(self, row: OutboxEntry) -> None:
        """Store a new `after` of the first row. The key never changes.

        Race: a push settles the row while its sender reads the log. Then another row is first, and this call does
        nothing.
        """
        first = self.first(row.chat)
        if first is not None and first.key == row.key:
            self._store.change(row)
            self._chats[row.chat][0] = row

    def remove(self, chat: str, key: str) -> bool:
        """Delete a settled row. Return False if it was deleted before."""
        rows = self._chats.get(chat, deque())
        found = next((row for row in rows if row.key == key), None)
        if found is None:
            return False
        self._store.drop(chat, key)
        rows.remove(found)
        if not rows:
            del self._chats[chat]
        return True
