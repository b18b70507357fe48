"""What devices are told of a broadcast, and which of them: the ramp by hashes, a segment by one read for each user.

A frame is made once and is the same for all. It is made anew each second, from the log and the words as they are by then:
what was redacted meanwhile is told to nobody any more, whether or not a word of it came.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import batched
from typing import Final, NamedTuple, Protocol, final

from tidings.broadcasts.model import (
    BroadcastLogId,
    BroadcastLogView,
    BroadcastRelease,
    BucketRange,
    rollout_bucket,
)
from tidings.gateway.broadcasts.crowd import InboxWatchers, PushBatch
from tidings.gateway.inbox_frames import notification_frame
from tidings.gateway.ports import InboxUseCases
from tidings.gateway.seat import ConnectedDevice
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId, stable_hash
from tidings.wire.codec import encode_push
from tidings.wire.frames.notices import BroadcastUpdate, Notification

FRESH_S: Final = 1.0
_MAX_CONCURRENT_ASKED: Final = 16
_TRIES: Final = 5
_RETRY_S: Final = 0.5

type FrameFactory = Callable[[], Awaitable[bytes | None]]
"""The frame as it is now; None: there is nothing more to tell."""


class Announcement(NamedTuple):
    """`notification` says who is told when."""

    notification: str
    push: PushBatch


class AnnouncementTarget(NamedTuple):
    """`spans`: steps of its ramp, one of which is to have the user. `segment` None: his profile is not asked."""

    notification: str
    spans: Sequence[BucketRange | None] = (None,)
    segment: str | None = None

    def has(self, user: UserId) -> bool:
        part = rollout_bucket(stable_hash(user), stable_hash(self.notification))
        return any(span is None or span.low <= part < span.high for span in self.spans)


class RedactedNotifications(Protocol):
    """What is known to be redacted."""

    @property
    def redacted(self) -> frozenset[str]: ...


@final
class CachedFrame:
    def __init__(self, make: FrameFactory, clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._made: bytes | None = None
        self._made_at = float("-inf")

    async def now(self) -> bytes | None:
        now = self._clock.monotonic()
        if now >= self._made_at + FRESH_S:
            self._made, self._made_at = await self._make(), now
        return self._made


@final
class AnnouncementFactory:
    """Of one inbox. `gave` is told how many devices got a frame."""

    def __init__(
        self,
        cases: InboxUseCases,
        log: BroadcastLogId,
        watchers: InboxWatchers,
        *,
        state: RedactedNotifications,
        clock: Clock,
        gave: Callable[[int], None],
    ) -> None:
        self._cases = cases
        self._log = log
        self._watchers = watchers
        self._state = state
        self._clock = clock
        self._gave = gave

    def added(self, release: BroadcastRelease) -> Announcement:
        """To those who were not given it in a list."""

        def is_new(seat: ConnectedDevice) -> bool:
            told = self._watchers.announced.get(seat)
            return (
                told is not None
                and told < release.sequence
                and release.notification not in self._state.redacted
            )

        def news(notice: Notification) -> BroadcastUpdate:
            return BroadcastUpdate(inbox=self._log.inbox, up_to=release.sequence, added=(notice,))

        reach = AnnouncementTarget(release.notification, [release.span], release.segment)
        return self._announced(reach, self._living(release, news), is_new)

    def amended(self, releases: Sequence[BroadcastRelease], up_to: int) -> Announcement:
        def news(notice: Notification) -> BroadcastUpdate:
            return BroadcastUpdate(inbox=self._log.inbox, up_to=up_to, amended=(notice,))

        first = releases[0]
        reach = AnnouncementTarget(first.notification, [each.span for each in releases], first.segment)
        return self._announced(
            reach, self._living(first, news), lambda _: first.notification not in self._state.redacted
        )

    def redacted(self, notification: str, view: BroadcastLogView) -> Announcement:
        """To all who may have it: nobody's profile is asked for an id that says nothing."""
        news = BroadcastUpdate(inbox=self._log.inbox, up_to=view.head, gone=(notification,))
        return self._announced(
            AnnouncementTarget(notification, [each.span for each in view.of(notification)]), _always(news)
        )

    def more(self, up_to: int) -> Announcement:
        news = BroadcastUpdate(inbox=self._log.inbox, up_to=up_to, has_more=True)
        return self._announced(AnnouncementTarget(""), _always(news))

    def _living(
        self, release: BroadcastRelease, news: Callable[[Notification], BroadcastUpdate]
    ) -> FrameFactory:
        """As long as it can be seen in the log, which is a second old at most."""

        async def make() -> bytes | None:
            board = await self._cases.logs.index(self._log)
            live = board.live(self._clock.now_ms())
            if not live & board.bits.get(release.sequence, 0):
                return None
            found = await self._cases.read.shown(self._log.tenant, release)
            if found is None:
                return None
            known = await self._cases.known.of(self._log.tenant, self._log.inbox)
            return encode_push(news(notification_frame(found, known)))

        return make

    def _announced(
        self,
        reach: AnnouncementTarget,
        make: FrameFactory,
        is_wanted: Callable[[ConnectedDevice], bool] = lambda _: True,
    ) -> Announcement:
        frame = CachedFrame(make, self._clock)

        async def give(seats: list[ConnectedDevice]) -> bool:
            ready = await frame.now()
            if ready is None:
                return False
            reached = await self._reached(reach, [each for each in seats if reach.has(each.user)])
            for seat in (mine := [each for each in reached if is_wanted(each)]):
                seat.connected.push(ready)
            self._gave(len(mine))
            return True

        return Announcement(reach.notification, lambda seats: _patiently(give, seats))

    async def _reached(
        self, reach: AnnouncementTarget, devices: list[ConnectedDevice]
    ) -> list[ConnectedDevice]:
        if reach.segment is None:
            return devices
        segment, holds = reach.segment, set[UserId]()

        async def ask(user: UserId) -> None:
            if await self._cases.audience.is_in(self._log.tenant, segment, user):
                holds.add(user)

        for some in batched({seat.user: None for seat in devices}, _MAX_CONCURRENT_ASKED):
            await asyncio.gather(*map(ask, some))
        return [seat for seat in devices if seat.user in holds]


def _always(news: BroadcastUpdate) -> FrameFactory:
    frame = encode_push(news)

    async def make() -> bytes:
        return frame

    return make


async def _patiently(give: PushBatch, devices: list[ConnectedDevice]) -> bool:
    """An engine that is away is waited for. Who is not told in the end finds it when he asks."""
    for tried in range(_TRIES):
        try:
            return await give(devices)
        except TidingsError as error:
            if not error.retryable:
                return False
            await asyncio.sleep(_RETRY_S * 2**tried)
    return True
