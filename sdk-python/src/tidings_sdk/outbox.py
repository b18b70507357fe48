"""What is to be sent, in order, chat by chat, and what an answer means for it. Pure but for the store it writes through.

A row is in the store before its first try, with the key and the `after` of all its tries. `after` None: never tried.
"""

from collections import deque
from typing import Final, NamedTuple, final

from tidings_sdk.errors import OutboxFull
from tidings_sdk.stores.store import OutboxEntry, Store
from tidings_wire.frames.history import Entry
from tidings_wire.frames.messages import CommitResult, Send
from tidings_wire.frames.structs import Body, ErrorBody

MAX_FAILURES: Final = 5
"""So often a server may fail at a row by its own mistake before those behind it get their turn."""


class Accepted(NamedTuple):
    sequence: int
    is_repeat: bool


class RetryLater(NamedTuple):
    """The same frame, after this time or one's own backoff. `is_failure`: by a mistake of the server's."""

    retry_after_ms: int | None = None
    is_failure: bool = False


class CatchUpFirst(NamedTuple):
    """Read what came since `after` first."""


class Rejected(NamedTuple):
    error: ErrorBody


type SendDecision = Accepted | RetryLater | CatchUpFirst | Rejected

_NOT_ABOUT_THE_ROW: Final = frozenset({"credential_expired", "credential_invalid"})
"""The connection ends over these; the row waits for the next one."""


def decide_send(answer: Body, failures: int) -> SendDecision:
    """`failures`: how often the server has failed at this row by itself."""
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
    """The right to send ended in between: tries from before are refused, and so `after` must not be raised over it."""

    entry: Entry


def find_in_log(
    row: OutboxEntry, user: str, entries: tuple[Entry, ...]
) -> FoundInLog | MembershipEnded | None:
    """Oldest first: a key that stands before the end of the membership was sent in time."""
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
    return entry.kind == "block"


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
        """Stored when this returns."""
        if len(self) >= self._max_rows:
            raise OutboxFull(f"{self._max_rows} messages wait in the outbox.")
        self._store.add(row)
        self._chats.setdefault(row.chat, deque()).append(row)

    def change_first(self, row: OutboxEntry) -> None:
        """`after` is set before the first try, or raised after catching up; the key never changes.

        A row that was settled meanwhile, by a push, stays settled.
        """
        first = self.first(row.chat)
        if first is not None and first.key == row.key:
            self._store.change(row)
            self._chats[row.chat][0] = row

    def remove(self, chat: str, key: str) -> bool:
        """Answered: the row goes. False if it had gone before."""
        rows = self._chats.get(chat, deque())
        found = next((row for row in rows if row.key == key), None)
        if found is None:
            return False
        self._store.drop(chat, key)
        rows.remove(found)
        if not rows:
            del self._chats[chat]
        return True
