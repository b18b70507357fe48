"""Announce a broadcast to the devices that watch an inbox, spread over some seconds.

The slot of a user comes from a hash of the user and the broadcast. So every tenth of a second has about the same number
of pushes, and the users who receive a broadcast first differ from one broadcast to the next.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, NamedTuple, final

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
from tidings.inboxes.preferences import NO_PREFERENCES, Channel, UserPreferences
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId, stable_hash
from tidings_wire.codec import encode_push
from tidings_wire.frames.inbox import BroadcastUpdate, Notification

SLOTS: Final = 6_000
SLICE_S: Final = 0.1
"""The slots of one slice are pushed together."""

type PushBatch = Callable[[list[ConnectedDevice]], Awaitable[bool]]
"""Pushes to the devices of one slice. Returns False if the broadcast no longer needs to be pushed."""


def spread_slot(user: UserId) -> int:
    """Return the slot of a user. It does not depend on their rollout bucket, so every rollout step uses all slots."""
    return stable_hash(f"{user} moment") % SLOTS


@final
class InboxWatchers:
    """The devices that watch an inbox, by slot.

    `announced`: the sequence of the broadcast log that the device has received in a list, or in its first counts;
    None before the first answer. `preferences`: those that the last read of the inbox found, if there were any.
    """

    def __init__(self) -> None:
        self.announced: dict[ConnectedDevice, int | None] = {}
        self.preferences: dict[ConnectedDevice, UserPreferences] = {}
        self._by_slot: dict[int, dict[ConnectedDevice, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.announced)

    def enter(self, device: ConnectedDevice) -> None:
        if device not in self.announced:
            self.announced[device] = None
            self._by_slot.setdefault(spread_slot(device.user), {})[device] = None

    def leave(self, device: ConnectedDevice) -> None:
        if device in self.announced:
            del self.announced[device]
            self.preferences.pop(device, None)
            slot = spread_slot(device.user)
            del self._by_slot[slot][device]
            if not self._by_slot[slot]:
                del self._by_slot[slot]

    def answered(self, device: ConnectedDevice, up_to: int, *, has_list: bool) -> None:
        before = self.announced.get(device)
        if device in self.announced and (before is None or has_list):
            # Race: a device has two requests in flight, and the answer that was read first is noted last. A lower
            # sequence would announce a listed broadcast again.
            self.announced[device] = max(up_to, before or 0)

    def note_preferences(self, device: ConnectedDevice, preferences: UserPreferences) -> None:
        # Race: two reads of the inbox are in flight while the user changes their preferences. The later version wins.
        if device in self.announced and preferences.version > self.preferences_of(device).version:
            self.preferences[device] = preferences

    def preferences_of(self, device: ConnectedDevice) -> UserPreferences:
        return self.preferences.get(device, NO_PREFERENCES)

    def least_announced(self) -> int | None:
        """Return the lowest announced sequence. None if no device was answered: the first answer will be current."""
        return min((each for each in self.announced.values() if each is not None), default=None)

    def between(self, low: int, high: int, shift: int) -> list[ConnectedDevice]:
        """Return the devices whose slot, shifted, is in `[low, high)`."""
        return [
            device for slot in range(low, high) for device in self._by_slot.get((slot - shift) % SLOTS, ())
        ]


class Announcement(NamedTuple):
    """`notification` determines in which slice each user is."""

    notification: str
    push: PushBatch


async def push_spread(
    watchers: InboxWatchers,
    announcement: Announcement,
    spread_s: float,
    clock: Clock,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Push to all watchers over `spread_s` seconds, slice by slice. A late push catches up at twice the pace at most."""
    began, slices = clock.monotonic(), max(1, round(spread_s / SLICE_S))
    for number, (low, high) in enumerate(_slices(slices), 1):
        # Race: a device starts to watch the inbox after the slice of its user was pushed. It misses nothing: this
        # process read the change before the first slice, so the device's first answer has it.
        devices = watchers.between(low, high, stable_hash(announcement.notification))
        if devices and not await announcement.push(devices):
            return
        if number < slices:
            due = began + number * spread_s / slices
            await sleep(max(due - clock.monotonic(), SLICE_S / 2))


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for number in range(count):
        yield number * SLOTS // count, (number + 1) * SLOTS // count


FRESH_S: Final = 1.0
"""How long an encoded frame is reused."""
_MAX_CONCURRENT_SEGMENT_CHECKS: Final = 16
_MAX_ATTEMPTS: Final = 5
_RETRY_S: Final = 0.5

type FrameFactory = Callable[[], Awaitable[bytes | None]]
"""Encodes the current frame. Returns None if the broadcast no longer needs to be pushed."""


class AnnouncementTarget(NamedTuple):
    """The users of an announcement: those in one of the rollout `spans` and in the `segment`, if there is one.

    With a `release`, only users whose preferences show it.
    """

    notification: str
    spans: Sequence[BucketRange | None] = (None,)
    segment: str | None = None
    release: BroadcastRelease | None = None

    def is_in_rollout(self, user: UserId) -> bool:
        bucket = rollout_bucket(stable_hash(user), stable_hash(self.notification))
        return any(span is None or span.low <= bucket < span.high for span in self.spans)


@final
class CachedFrame:
    """Encodes a frame at most once per `FRESH_S`, for all slices of an announcement."""

    def __init__(self, make: FrameFactory, clock: Clock) -> None:
        self._make = make
        self._clock = clock
        self._frame: bytes | None = None
        self._encoded_at = float("-inf")

    async def now(self) -> bytes | None:
        now = self._clock.monotonic()
        if now >= self._encoded_at + FRESH_S:
            # Race: the tenant amends or redacts the broadcast while the frame is made. Its age counts from before the
            # read, so a frame with old content is reused for at most `FRESH_S`.
            self._frame, self._encoded_at = await self._make(), now
        return self._frame


@final
class AnnouncementFactory:
    """Creates the announcements of one inbox. `on_pushed` is called with the number of devices of each push."""

    def __init__(
        self,
        cases: InboxUseCases,
        log: BroadcastLogId,
        watchers: InboxWatchers,
        *,
        is_redacted: Callable[[str], bool],
        clock: Clock,
        on_pushed: Callable[[int], None],
    ) -> None:
        self._cases = cases
        self._log = log
        self._watchers = watchers
        self._is_redacted = is_redacted
        self._clock = clock
        self._on_pushed = on_pushed

    def added(self, release: BroadcastRelease) -> Announcement:
        """Announce a broadcast to devices that have not received it in a list."""

        def is_new(device: ConnectedDevice) -> bool:
            # Race: the device lists its inbox while this announcement runs, and the list has the broadcast. The notifier
            # has noted the sequence of the list, so the device does not receive the broadcast twice.
            announced = self._watchers.announced.get(device)
            return (
                announced is not None
                and announced < release.sequence
                and not self._is_redacted(release.notification)
            )

        def update(notification: Notification) -> BroadcastUpdate:
            return BroadcastUpdate(inbox=self._log.inbox, up_to=release.sequence, added=(notification,))

        target = AnnouncementTarget(release.notification, [release.span], release.segment, release)
        return self._announcement(target, self._visible_frame(release, update), is_new)

    def amended(self, releases: Sequence[BroadcastRelease], up_to: int) -> Announcement:
        def update(notification: Notification) -> BroadcastUpdate:
            return BroadcastUpdate(inbox=self._log.inbox, up_to=up_to, amended=(notification,))

        first = releases[0]
        spans = [each.span for each in releases]
        target = AnnouncementTarget(first.notification, spans, first.segment, first)
        frame = self._visible_frame(first, update)
        return self._announcement(target, frame, lambda _: not self._is_redacted(first.notification))

    def redacted(self, notification: str, view: BroadcastLogView) -> Announcement:
        """Announce a redaction to all devices that may have the broadcast, without checking its segment."""
        update = BroadcastUpdate(inbox=self._log.inbox, up_to=view.head, removed=(notification,))
        target = AnnouncementTarget(notification, [each.span for each in view.of(notification)])
        return self._announcement(target, _constant_frame(update))

    def more(self, up_to: int) -> Announcement:
        update = BroadcastUpdate(inbox=self._log.inbox, up_to=up_to, has_more=True)
        return self._announcement(AnnouncementTarget(""), _constant_frame(update))

    def _visible_frame(
        self, release: BroadcastRelease, update: Callable[[Notification], BroadcastUpdate]
    ) -> FrameFactory:
        """Encode the broadcast while it is visible in the log, which is cached for at most a second."""

        async def make() -> bytes | None:
            index = await self._cases.logs.index(self._log)
            live = index.live(self._clock.now_ms())
            if not live & index.bits.get(release.sequence, 0):
                return None
            found = await self._cases.read.shown(self._log.tenant, release)
            if found is None:
                return None
            inbox = await self._cases.known.of(self._log.tenant, self._log.inbox)
            return encode_push(update(notification_frame(found, inbox)))

        return make

    def _announcement(
        self,
        target: AnnouncementTarget,
        make: FrameFactory,
        is_wanted: Callable[[ConnectedDevice], bool] = lambda _: True,
    ) -> Announcement:
        frame = CachedFrame(make, self._clock)

        async def push(devices: list[ConnectedDevice]) -> bool:
            current = await frame.now()
            if current is None:
                return False
            is_shown = await self._preference_check(target)
            in_segment = await self._in_segment(target, devices)
            # Race: while segments are checked, the broadcast is redacted, a device receives it in a list, or a user
            # switches its category off. So `is_shown` and `is_wanted` run after the last await.
            for device in (receivers := [each for each in in_segment if is_shown(each) and is_wanted(each)]):
                device.connected.push(current)
            self._on_pushed(len(receivers))
            return True

        return Announcement(target.notification, lambda devices: _with_retries(push, devices))

    async def _preference_check(self, target: AnnouncementTarget) -> Callable[[ConnectedDevice], bool]:
        """Return the check of a device against its user's preferences, which an earlier answer has noted.

        So an announcement reads no preferences, regardless of the number of devices that watch the inbox.
        """
        if (release := target.release) is None:
            return lambda _: True
        inbox = await self._cases.known.of(self._log.tenant, self._log.inbox)

        def is_shown(device: ConnectedDevice) -> bool:
            preferences = self._watchers.preferences_of(device)
            channels = inbox.channels_for(release.category, preferences, is_critical=release.is_critical)
            return channels[Channel.INBOX]

        return is_shown

    async def _in_segment(
        self, target: AnnouncementTarget, devices: list[ConnectedDevice]
    ) -> list[ConnectedDevice]:
        devices = [device for device in devices if target.is_in_rollout(device.user)]
        if target.segment is None:
            return devices
        users = list({device.user: None for device in devices})
        checks = (self._cases.audience.is_in(self._log.tenant, target.segment, user) for user in users)
        is_in = dict(zip(users, await gather_limited(checks, _MAX_CONCURRENT_SEGMENT_CHECKS), strict=True))
        return [device for device in devices if is_in[device.user]]


def _constant_frame(update: BroadcastUpdate) -> FrameFactory:
    frame = encode_push(update)

    async def make() -> bytes:
        return frame

    return make


async def _with_retries(push: PushBatch, devices: list[ConnectedDevice]) -> bool:
    """Retry while an engine is unavailable. After the last attempt, the devices see the broadcast in their next list."""
    for attempt in range(_MAX_ATTEMPTS):
        try:
            return await push(devices)
        except TidingsError as error:
            if not error.retryable:
                return False
            await asyncio.sleep(_RETRY_S * 2**attempt)
    return True
