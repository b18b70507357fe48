"""The log of an inbox's broadcasts, what is live of it, and whom it reaches.

A showing is a broadcast as some users have it: all of them, or those of one step of a ramp. It has the sequence and the
time at which it became visible to these users, so that no mark made before is above it.
"""

from bisect import bisect_left as _before
from bisect import bisect_right as _after
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import accumulate
from operator import or_
from typing import Any, NamedTuple

from msgspec import Struct, field

from tidings.kernel.ids import TenantId, UserId, stable_hash

PARTS = 10_000
"""Users are spread over so many parts by their hash: a hundred to a percent."""
BUCKETS = 256
"""Partitions of a tenant's directory."""
DAY_MS = 86_400_000
LONGEST_MS = 90 * DAY_MS
"""No broadcast lives longer."""
STALE_MS = 1_000
"""No reader uses a copy of the log that is older."""


class BroadcastLogId(NamedTuple):
    """Each inbox of a tenant has one log."""

    tenant: TenantId
    inbox: str


class BroadcastEntryKind(StrEnum):
    PUBLISH = "publish"
    RAMP = "ramp"
    HALT = "halt"
    REDACT = "redact"


class BucketRange(NamedTuple):
    """Users whose part is in `[low, high)`."""

    low: int
    high: int


class BroadcastEntry(Struct, frozen=True, kw_only=True):
    """`id` is of the try that wrote it: who finds it there after doubt knows it for his own."""

    sequence: int
    kind: BroadcastEntryKind
    id: str
    notification: str
    at_ms: int
    category: int = 0
    segment: str | None = None
    span: BucketRange | None = None
    expires_ms: int = 0
    is_tracked: bool = False


class BroadcastDraft(Struct, frozen=True, kw_only=True):
    """An entry before it has a place."""

    kind: BroadcastEntryKind = BroadcastEntryKind.PUBLISH
    notification: str
    category: int = 0
    segment: str | None = None
    span: BucketRange | None = None
    expires_ms: int = 0
    is_tracked: bool = False


class RolloutStatus(NamedTuple):
    """How far a broadcast is: shown to so many parts of its users, since its first entry. `head`: the log's, then."""

    parts: int
    sequence: int | None
    since_ms: int | None
    is_halted: bool
    redacted_ms: int | None
    head: int


class BroadcastRelease(Struct, frozen=True, kw_only=True, gc=False):
    """`segment` None: to everyone. `span` None: to all of them at once."""

    sequence: int
    notification: str
    category: int
    at_ms: int
    expires_ms: int
    segment: str | None = None
    span: BucketRange | None = None
    is_tracked: bool = False


class BroadcastLogView(Struct, frozen=True, kw_only=True):
    """The log up to `head`, as far as it still matters: what has expired is left out, what was redacted stays until then.

    `at_ms` is the time of the last entry: times never go back along a log.
    """

    head: int = 0
    at_ms: int = 0
    releases: tuple[BroadcastRelease, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    halted: frozenset[str] = frozenset()

    def of(self, notification: str) -> list[BroadcastRelease]:
        return [each for each in self.releases if each.notification == notification]


class Profile(Struct, frozen=True, kw_only=True):
    """What a tenant told of a user. `lists`: the newest version of each that he is in, and the one before that."""

    user: UserId
    attributes: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    created_ms: int = 0
    version: int = 0


class Segment(Struct, frozen=True, kw_only=True):
    """A predicate over attributes, or a list: of its versions one is active. `newest`: the last that was uploaded."""

    name: str
    predicate: Mapping[str, Any] | None = None
    is_list: bool = False
    active: int = 0
    newest: int = 0
    version: int = 0
    updated_ms: int = 0


def rollout_bucket(user_hash: int, shift: int) -> int:
    """Each broadcast begins somewhere else, so that it is not always the same users who get things first."""
    return (user_hash // BUCKETS + shift) % PARTS


class BroadcastIndex:
    """A view made ready for counting: sets of showings are the bits of a whole number, in the order of sequences.

    Made once for every change of the log and read by everybody; what differs between users are a few such numbers.
    """

    def __init__(self, view: BroadcastLogView) -> None:
        self.view = view
        self.head = view.head
        self.releases = showings = view.releases
        self.bits = {each.sequence: 1 << at for at, each in enumerate(showings)}
        self.categories: dict[int, int] = {}
        self.segments: dict[str, int] = {}
        self.spans: list[tuple[int, int, BucketRange]] = []
        self.all_users_mask = self.not_redacted_mask = self.tracked = 0
        self._by_notification: dict[str, int] = {}
        self._sequences = [each.sequence for each in showings]
        self._times = [each.at_ms for each in showings]
        self.everything = (1 << len(showings)) - 1
        for each, bit in zip(showings, self.bits.values(), strict=True):
            self._place(each, bit)
        ends = sorted((each.expires_ms, self.bits[each.sequence]) for each in showings)
        self._ends, self._ending = [at for at, _ in ends], [bit for _, bit in ends]
        self._ended = _running(self._ending)

    def _place(self, each: BroadcastRelease, bit: int) -> None:
        self.categories[each.category] = self.categories.get(each.category, 0) | bit
        self._by_notification[each.notification] = self._by_notification.get(each.notification, 0) | bit
        if each.segment is None:
            self.all_users_mask |= bit
        else:
            self.segments[each.segment] = self.segments.get(each.segment, 0) | bit
        if each.span is not None:
            self.spans.append((bit, stable_hash(each.notification), each.span))
        self.not_redacted_mask |= 0 if each.notification in self.view.redacted else bit
        self.tracked |= bit if each.is_tracked else 0

    def live(self, now_ms: int, keep_from_ms: int = 0) -> int:
        """Neither redacted nor expired, and given since `keep_from_ms`."""
        ended = self._ended[_after(self._ends, now_ms)]
        return self.not_redacted_mask & ~ended & self._from(_before(self._times, keep_from_ms))

    def above(self, sequence: int) -> int:
        return self._from(_after(self._sequences, sequence))

    def until_ms(self, at_ms: int) -> int:
        """The last sequence that was given up to then; 0 if none that still matters was."""
        given = _after(self._times, at_ms)
        return self._sequences[given - 1] if given else 0

    def of(self, sequences: Iterable[int]) -> int:
        """Those that are still there."""
        found, bits = 0, self.bits
        for sequence in sequences:
            found |= bits.get(sequence, 0)
        return found

    def of_notification(self, notification: str) -> int:
        return self._by_notification.get(notification, 0)

    def shown(self, mask: int) -> list[BroadcastRelease]:
        """Oldest first."""
        found = []
        while mask:
            low = mask & -mask
            found.append(self.releases[low.bit_length() - 1])
            mask ^= low
        return found

    def next_end_ms(self, mask: int, now_ms: int) -> int | None:
        """When the first of these expires."""
        for at in range(_after(self._ends, now_ms), len(self._ends)):
            if self._ending[at] & mask:
                return self._ends[at]
        return None

    def reached(self, user_hash: int, segments: Iterable[str]) -> int:
        """What a user gets who is in these segments."""
        mask = self.all_users_mask
        for name in segments:
            mask |= self.segments.get(name, 0)
        for bit, shift, (low, high) in self.spans:
            if mask & bit and not low <= rollout_bucket(user_hash, shift) < high:
                mask ^= bit
        return mask

    def _from(self, index: int) -> int:
        return self.everything >> index << index


def _running(bits: list[int]) -> list[int]:
    """All of the first n, for each n."""
    return list(accumulate(bits, or_, initial=0))


class UserBroadcasts(NamedTuple):
    """A board as one user has it. `joined`: what was given up to there is from before his time."""

    log_index: BroadcastIndex
    visible_mask: int
    joined: int


NOTHING = UserBroadcasts(BroadcastIndex(BroadcastLogView()), 0, 0)
