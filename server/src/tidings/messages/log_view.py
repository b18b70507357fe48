"""A writer's view of one chat: a follower of its log. Stale at worst, never wrong.

It moves entry by entry only, so that what it knows up to `head` is everything up to `head`.
"""

from collections.abc import Iterable

from tidings.kernel.ids import UserId
from tidings.messages.model import STATUS_CHANGING_KINDS, Entry, IdempotencyKey, KeyRecord

MAX_RECENT_KEYS = 64
"""Nearly every `after` lies within so many entries of the head. What lies further back is read."""
NOBODY_WAITS = 10**15


class LogView[S]:
    """`S` is what is known of a member's standing; the log only says when to ask again."""

    __slots__ = (
        "_confirmed",
        "_keys",
        "floor",
        "head",
        "needed_after",
        "ordinal",
        "standings",
        "status_read_after",
    )

    def __init__(self, newest: Entry) -> None:
        self.head = newest.sequence
        self.ordinal = newest.ordinal
        # keys are known for (floor, head]
        self.floor = newest.sequence - 1
        self.needed_after = NOBODY_WAITS
        self.standings: dict[UserId, S] = {}
        self.status_read_after = newest.sequence
        self._confirmed: set[UserId] = set()
        self._keys: dict[IdempotencyKey, KeyRecord] = {
            newest.key: KeyRecord(newest.sequence, newest.fingerprint)
        }

    @property
    def weight(self) -> int:
        """How many keys and standings the view holds: what its memory grows with."""
        return len(self._keys) + len(self.standings)

    def find(self, key: IdempotencyKey) -> KeyRecord | None:
        return self._keys.get(key)

    def apply(self, entry: Entry) -> None:
        """Move by one. An entry that is known already changes nothing; one that is ahead is a mistake."""
        if entry.sequence <= self.head:
            return
        if entry.sequence != self.head + 1:
            raise ValueError(f"a view at {self.head} can't jump to {entry.sequence}")
        self.head, self.ordinal = entry.sequence, entry.ordinal
        self._keys[entry.key] = KeyRecord(entry.sequence, entry.fingerprint)
        if entry.kind in STATUS_CHANGING_KINDS:
            self.status_read_after = entry.sequence
            self.standings.clear()
            self._confirmed.clear()
        if min(self.head - MAX_RECENT_KEYS, self.needed_after) - self.floor > MAX_RECENT_KEYS:
            self._evict()

    def learn_status(self, user: UserId, standing: S, asked_after: int) -> bool:
        """Counts only if no entry that changes standings has passed since it was asked for."""
        if self.status_read_after != asked_after:
            return False
        self.standings[user] = standing
        self._confirmed.discard(user)
        return True

    def is_at_head(self) -> None:
        """The log was read up to its head, after every row that is known here."""
        self._confirmed.update(self.standings)

    def may_refuse(self, user: UserId) -> bool:
        """A row is read as it is now, which may be ahead of the view: his message may stand between the two.

        So nobody is refused by a row before the log was read up to the head after it.
        """
        return user in self._confirmed

    def learn_keys(self, older: Iterable[tuple[IdempotencyKey, KeyRecord]], floor: int) -> None:
        """The keys of (floor, the floor so far], from a read."""
        self._keys = dict(older) | self._keys
        self.floor = min(self.floor, floor)

    def _evict(self) -> None:
        """Keep the newest, so that forgetting is paid for once in many entries; and all that somebody waits for.

        Else who stands far back in a busy chat reads his keys again and again, and loses every race meanwhile.
        """
        self.floor = min(self.head - MAX_RECENT_KEYS, self.needed_after)
        self._keys = {key: seen for key, seen in self._keys.items() if seen.sequence > self.floor}
