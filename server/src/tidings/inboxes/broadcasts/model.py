"""The broadcast log of an inbox, its live broadcasts, and the users that receive them.

A release is a broadcast as some users have it: all of them, or those of one rollout step. It has the sequence and the
time at which it became visible to these users, so that no earlier mark of all covers it.
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
"""Users are divided into this number of parts by their hash: 100 parts for each percent."""
BUCKETS = 256
"""Partitions of a tenant's directory."""
DAY_MS = 86_400_000
LONGEST_MS = 90 * DAY_MS
"""The longest time from the start of a broadcast to its expiry."""
STALE_MS = 1_000
"""The maximum age of a cached log that a reader uses."""


class BroadcastLogId(NamedTuple):
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
    """`id` identifies the attempt that wrote it: after an unanswered put, the writer recognizes its own entry."""

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
    is_critical: bool = False


class BroadcastDraft(Struct, frozen=True, kw_only=True):
    """An entry without its sequence."""

    kind: BroadcastEntryKind = BroadcastEntryKind.PUBLISH
    notification: str
    category: int = 0
    segment: str | None = None
    span: BucketRange | None = None
    expires_ms: int = 0
    is_tracked: bool = False
    is_critical: bool = False


class RolloutStatus(NamedTuple):
    """The progress of a broadcast: released to `parts` of its users, since its first entry. `head`: that of the log."""

    parts: int
    sequence: int | None
    since_ms: int | None
    is_halted: bool
    redacted_ms: int | None
    head: int


class BroadcastRelease(Struct, frozen=True, kw_only=True, gc=False):
    """`segment` None: all users. `span` None: all parts of them."""

    sequence: int
    notification: str
    category: int
    at_ms: int
    expires_ms: int
    segment: str | None = None
    span: BucketRange | None = None
    is_tracked: bool = False
    is_critical: bool = False


class BroadcastLogView(Struct, frozen=True, kw_only=True):
    """The log up to `head` without expired releases. Redacted ones remain until they expire.

    `at_ms` is the time of the last entry. Times never decrease along a log.
    """

    head: int = 0
    at_ms: int = 0
    releases: tuple[BroadcastRelease, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)
    halted: frozenset[str] = frozenset()

    def of(self, notification: str) -> list[BroadcastRelease]:
        return [each for each in self.releases if each.notification == notification]


class Profile(Struct, frozen=True, kw_only=True):
    """Attributes of a user. `lists`: for each list, the newest version that contains the user and the one before."""

    user: UserId
    attributes: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    created_ms: int = 0
    version: int = 0


class Segment(Struct, frozen=True, kw_only=True):
    """A predicate over attributes, or a list of users with an `active` version. `newest`: the last uploaded version."""

    name: str
    predicate: Mapping[str, Any] | None = None
    is_list: bool = False
    active: int = 0
    newest: int = 0
    version: int = 0
    updated_ms: int = 0


def rollout_bucket(user_hash: int, shift: int) -> int:
    """Return the part of a user. Each broadcast has another `shift`, so that its first users differ."""
    return (user_hash // BUCKETS + shift) % PARTS


class BroadcastIndex:
    """A log view prepared for counting. A set of releases is an integer with one bit per release, by sequence.

    It is built once for every change of the log and shared by all users; a user needs only a few such integers.
    """

    def __init__(self, view: BroadcastLogView) -> None:
        self.view = view
        self.head = view.head
        self.releases = releases = view.releases
        self.bits = {each.sequence: 1 << at for at, each in enumerate(releases)}
        self.categories: dict[int, int] = {}
        self.segments: dict[str, int] = {}
        self.spans: list[tuple[int, int, BucketRange]] = []
        self.all_users_mask = self.not_redacted_mask = self.tracked = self.critical = 0
        self._by_notification: dict[str, int] = {}
        self._sequences = [each.sequence for each in releases]
        self._times = [each.at_ms for each in releases]
        self.everything = (1 << len(releases)) - 1
        for each, bit in zip(releases, self.bits.values(), strict=True):
            self._add(each, bit)
        ends = sorted((each.expires_ms, self.bits[each.sequence]) for each in releases)
        self._ends, self._ending = [at for at, _ in ends], [bit for _, bit in ends]
        self._ended = _running(self._ending)

    def _add(self, each: BroadcastRelease, bit: int) -> None:
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
        self.critical |= bit if each.is_critical else 0

    def live(self, now_ms: int, keep_from_ms: int = 0) -> int:
        """Return the releases that are neither redacted nor expired, released since `keep_from_ms`."""
        ended = self._ended[_after(self._ends, now_ms)]
        return self.not_redacted_mask & ~ended & self._from(_before(self._times, keep_from_ms))

    def above(self, sequence: int) -> int:
        return self._from(_after(self._sequences, sequence))

    def until_ms(self, at_ms: int) -> int:
        """Return the last sequence that was released up to `at_ms`; 0 if the view has none."""
        count = _after(self._times, at_ms)
        return self._sequences[count - 1] if count else 0

    def of(self, sequences: Iterable[int]) -> int:
        """Return the releases of these sequences that the view still has."""
        found, bits = 0, self.bits
        for sequence in sequences:
            found |= bits.get(sequence, 0)
        return found

    def of_notification(self, notification: str) -> int:
        return self._by_notification.get(notification, 0)

    def shown(self, mask: int) -> list[BroadcastRelease]:
        """Return the releases of a mask, oldest first."""
        found = []
        while mask:
            low = mask & -mask
            found.append(self.releases[low.bit_length() - 1])
            mask ^= low
        return found

    def next_end_ms(self, mask: int, now_ms: int) -> int | None:
        """Return when the first of these releases expires."""
        for at in range(_after(self._ends, now_ms), len(self._ends)):
            if self._ending[at] & mask:
                return self._ends[at]
        return None

    def reached(self, user_hash: int, segments: Iterable[str]) -> int:
        """Return the releases for a user who is in these segments."""
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
    """Return the union of the first n, for each n."""
    return list(accumulate(bits, or_, initial=0))


class UserBroadcasts(NamedTuple):
    """The broadcasts of one user. `joined`: those up to this sequence were released before the user was created.

    `hidden_mask`: those of categories whose channel `inbox` is off. `visible_mask` does not contain them.
    """

    log_index: BroadcastIndex
    visible_mask: int
    joined: int
    hidden_mask: int = 0


NO_BROADCASTS = UserBroadcasts(BroadcastIndex(BroadcastLogView()), 0, 0)
