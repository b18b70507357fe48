"""The cached view of one chat's log that its writers check proposals against. Possibly stale, never wrong.

The view advances entry by entry, so it has seen everything up to `head`. A stale view costs a failed put.
"""

from collections.abc import Iterable

from tidings.kernel.ids import UserId
from tidings.messages.model import STATUS_CHANGING_KINDS, Entry, IdempotencyKey, KeyRecord

MAX_RECENT_KEYS = 64
"""Nearly every `after` is within this distance of the head. Older keys are read from the log."""
NOBODY_WAITS = 10**15


class LogView[S]:
    """`S` is the type of a member status. Entries only say when a cached status becomes invalid."""

    __slots__ = (
        "_confirmed",
        "_keys",
        "floor",
        "head",
        "needed_after",
        "ordinal",
        "status_read_after",
        "statuses",
    )

    def __init__(self, newest: Entry) -> None:
        self.head = newest.sequence
        self.ordinal = newest.ordinal
        self.floor = newest.sequence - 1  # keys are known for (floor, head]
        self.needed_after = NOBODY_WAITS
        self.statuses: dict[UserId, S] = {}
        self.status_read_after = newest.sequence
        self._confirmed: set[UserId] = set()
        self._keys: dict[IdempotencyKey, KeyRecord] = {
            newest.key: KeyRecord(newest.sequence, newest.fingerprint)
        }

    @property
    def weight(self) -> int:
        """Return the number of cached keys and statuses, to which memory use is proportional."""
        return len(self._keys) + len(self.statuses)

    def find(self, key: IdempotencyKey) -> KeyRecord | None:
        return self._keys.get(key)

    def apply(self, entry: Entry) -> None:
        """Advance by one entry. A known entry changes nothing; raises `ValueError` for a gap."""
        if entry.sequence <= self.head:
            return
        if entry.sequence != self.head + 1:
            raise ValueError(f"a view at {self.head} can't jump to {entry.sequence}")
        self.head, self.ordinal = entry.sequence, entry.ordinal
        self._keys[entry.key] = KeyRecord(entry.sequence, entry.fingerprint)
        if entry.kind in STATUS_CHANGING_KINDS:
            self.status_read_after = entry.sequence
            self.statuses.clear()
            self._confirmed.clear()
        if min(self.head - MAX_RECENT_KEYS, self.needed_after) - self.floor > MAX_RECENT_KEYS:
            self._evict()

    def learn_status(self, user: UserId, status: S, asked_after: int) -> bool:
        """Cache a status, unless the view passed a membership entry since `asked_after`. Return whether it did."""
        # Race: the queue reads a member's row while another process commits a leave, and an event of that leave
        # advances this view. The row may be from before the leave: do not cache it, read it again.
        if self.status_read_after != asked_after:
            return False
        self.statuses[user] = status
        self._confirmed.discard(user)
        return True

    def mark_at_head(self) -> None:
        """Record that the log was read to its head after every cached status was read."""
        self._confirmed.update(self.statuses)

    def may_refuse(self, user: UserId) -> bool:
        """Return whether a refusal by this user's status is final."""
        # Race: an earlier attempt of the user's message commits, then an admin removes the user, then this process
        # reads the membership row. The row is ahead of the view and would refuse a message that was appended. So
        # refuse only after the log was read to its head after the row.
        return user in self._confirmed

    def learn_keys(self, older: Iterable[tuple[IdempotencyKey, KeyRecord]], floor: int) -> None:
        """Add the keys of `(floor, self.floor]`, as read from the log."""
        self._keys = dict(older) | self._keys
        self.floor = min(self.floor, floor)

    def _evict(self) -> None:
        """Keep the newest keys and those that a queued proposal needs. Evicts once in many entries."""
        # Race: a sender with an old `after` reads keys while other senders of a busy chat append. Without
        # `needed_after` these keys would be evicted before they are used, and the sender would read them again,
        # append by append, and never get a sequence.
        self.floor = min(self.head - MAX_RECENT_KEYS, self.needed_after)
        self._keys = {key: seen for key, seen in self._keys.items() if seen.sequence > self.floor}
