"""Devices that look at one inbox, by their users' moments, and the walk through them that takes its time. No I/O.

A user's moment within the seconds over which a broadcast is spread comes from his hash, and is another for each broadcast:
so many devices, so many pushes in each tenth of a second, and it is not always the same users who are told first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, final

from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.frames import notification_frame
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts.model import (
    BroadcastLogId,
    BroadcastLogView,
    BroadcastRelease,
    BucketRange,
    rollout_bucket,
)
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId, stable_hash
from tidings_wire.codec import encode_push
from tidings_wire.frames.inbox import BroadcastUpdate, Notification

MOMENTS: Final = 6_000
SLICE_S: Final = 0.1
"""Who has his moment in the same slice is told together."""

type PushBatch = Callable[[list[ConnectedDevice]], Awaitable[bool]]
"""To the devices of one slice; False: there is nothing more to tell."""


def spread_slot(user: UserId) -> int:
    """Independent of the part in which he is for ramps: of the users of a step some have every moment."""
    return stable_hash(f"{user} moment") % MOMENTS


@final
class InboxWatchers:
    """`announced`: the log as the device was last given it in a list, or found it counted at first; None: not yet."""

    def __init__(self) -> None:
        self.announced: dict[ConnectedDevice, int | None] = {}
        self._at: dict[int, dict[ConnectedDevice, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.announced)

    def enter(self, device: ConnectedDevice) -> None:
        if device not in self.announced:
            self.announced[device] = None
            self._at.setdefault(spread_slot(device.user), {})[device] = None

    def leave(self, device: ConnectedDevice) -> None:
        if device in self.announced:
            del self.announced[device]
            moment = spread_slot(device.user)
            del self._at[moment][device]
            if not self._at[moment]:
                del self._at[moment]

    def answered(self, device: ConnectedDevice, up_to: int, *, has_list: bool) -> None:
        before = self.announced.get(device)
        if device in self.announced and (before is None or has_list):
            self.announced[device] = max(up_to, before or 0)

    def least_announced(self) -> int | None:
        """None: nobody was answered yet; whoever will be is given what is there by now."""
        return min((each for each in self.announced.values() if each is not None), default=None)

    def between(self, low: int, high: int, shift: int) -> list[ConnectedDevice]:
        """Whose moment, shifted, is in `[low, high)`."""
        return [
            device for moment in range(low, high) for device in self._at.get((moment - shift) % MOMENTS, ())
        ]


class MonotonicClock(Protocol):
    def monotonic(self) -> float: ...


@final
class SpreadPush:
    """Through a crowd, one slice after the other. Who is late makes up for it at twice the pace at most."""

    def __init__(
        self,
        spread_s: float,
        timer: MonotonicClock,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._spread_s = spread_s
        self._timer = timer
        self._sleep = sleep

    async def __call__(self, watchers: InboxWatchers, notification: str, give: PushBatch) -> None:
        began, slices = self._timer.monotonic(), max(1, round(self._spread_s / SLICE_S))
        for number, (low, high) in enumerate(_slices(slices), 1):
            devices = watchers.between(low, high, stable_hash(notification))
            if devices and not await give(devices):
                return
            if number < slices:
                due = began + number * self._spread_s / slices
                await self._sleep(max(due - self._timer.monotonic(), SLICE_S / 2))


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for number in range(count):
        yield number * MOMENTS // count, (number + 1) * MOMENTS // count


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

        def is_new(device: ConnectedDevice) -> bool:
            told = self._watchers.announced.get(device)
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

        async def give(devices: list[ConnectedDevice]) -> bool:
            ready = await frame.now()
            if ready is None:
                return False
            reached = await self._reached(reach, [each for each in devices if reach.has(each.user)])
            for device in (mine := [each for each in reached if is_wanted(each)]):
                device.connected.push(ready)
            self._gave(len(mine))
            return True

        return Announcement(reach.notification, lambda devices: _patiently(give, devices))

    async def _reached(
        self, reach: AnnouncementTarget, devices: list[ConnectedDevice]
    ) -> list[ConnectedDevice]:
        if reach.segment is None:
            return devices
        users = list({device.user: None for device in devices})
        asked = (self._cases.audience.is_in(self._log.tenant, reach.segment, user) for user in users)
        is_in = dict(zip(users, await gather_limited(asked, _MAX_CONCURRENT_ASKED), strict=True))
        return [device for device in devices if is_in[device.user]]


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
