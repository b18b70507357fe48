"""Tells devices of broadcasts to the inboxes that they look at. A word in Redis says that a log has moved; what has
happened is read from the log, once in this process, and goes to those whom it reaches at their moments.

Nothing is kept and nothing is written. Without Redis nobody is told: devices find it when they next ask.
"""

import asyncio
from collections.abc import Callable
from typing import Final, final

import msgspec

from tidings.broadcasts.model import STALE_MS, LogId, Showing, View
from tidings.gateway.broadcasts.crowd import Crowd, Walk
from tidings.gateway.broadcasts.telling import Telling, Told
from tidings.gateway.crew import Crew
from tidings.gateway.ports import InboxCases
from tidings.gateway.seat import Seat
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.routing.model import LogMoved, decode
from tidings.routing.ports import Heard, Listening, LogEars, Lost, Standing

AT_ONCE: Final = 20
"""Walks of one inbox. If more has happened, those who look are told to list again."""
_READ_AT_ONCE: Final = 16
_AGAIN_S: Final = 1.0

type Report = Callable[[str, BaseException], None]


@final
class Channel:
    """Of one log. `told`: up to where it was told or found told; None: not looked at yet. `amended`: yet to be told."""

    def __init__(self, log: LogId, opened_ms: int) -> None:
        self.log = log
        self.opened_ms = opened_ms
        self.crowd = Crowd()
        self.told: int | None = None
        self.gone: frozenset[str] = frozenset()
        self.amended: dict[str, None] = {}
        self.walks: dict[asyncio.Task[None], None] = {}
        self.listening: Listening | None = None

    def news(self, view: View) -> tuple[list[Showing], list[str]]:
        """What has come and what is gone since it was last looked at. At first that is what nobody here was given."""
        since, from_ms = self.told, 0
        if since is None:
            since, from_ms = self.crowd.least_told(), self.opened_ms - STALE_MS
        since = view.head if since is None else since
        added = [each for each in view.showings if each.sequence > since and each.notice not in view.redacted]
        gone = [name for name, at in view.redacted.items() if name not in self.gone and at >= from_ms]
        self.told, self.gone = max(view.head, self.told or 0), frozenset(view.redacted)
        return added, gone


@final
class BroadcastDesk:
    """Without `ears` nobody is told of anything."""

    def __init__(
        self,
        cases: InboxCases | None,
        ears: LogEars | None,
        report: Report,
        *,
        clock: Clock,
        spread_s: float,
    ) -> None:
        self._cases = cases
        self._ears = ears
        self._report = report
        self._clock = clock
        self._spread_s = spread_s
        self._channels: dict[LogId, Channel] = {}
        self._looks: Crew[Channel] = Crew(self._look, _READ_AT_ONCE, report)
        self.pushes = 0

    def __len__(self) -> int:
        return len(self._channels)

    def enter(self, seat: Seat, inbox: str) -> None:
        if self._cases is None or self._ears is None:
            return
        log = LogId(seat.key.tenant, inbox)
        channel = self._channels.get(log)
        if channel is None:
            channel = self._channels[log] = Channel(log, self._clock.now_ms())
            channel.listening = self._ears.at_broadcasts(*log, self._ear(channel))
        channel.crowd.enter(seat)

    def leave(self, seat: Seat, inbox: str) -> None:
        channel = self._channels.get(LogId(seat.key.tenant, inbox))
        if channel is not None:
            channel.crowd.leave(seat)
            if not channel.crowd:
                self._close(channel)

    def answered(self, seat: Seat, inbox: str, up_to: int, *, has_list: bool) -> None:
        """A log that is further than what was told of it: the word was lost, or is under way."""
        channel = self._channels.get(LogId(seat.key.tenant, inbox))
        if channel is None:
            return
        channel.crowd.answered(seat, up_to, has_list=has_list)
        if channel.told is not None and up_to > channel.told:
            self._looks.add(channel)

    async def settled(self, within_s: float) -> None:
        for channel in list(self._channels.values()):
            self._close(channel)
        await self._looks.settled(within_s)

    def _close(self, channel: Channel) -> None:
        del self._channels[channel.log]
        if channel.listening is not None:
            channel.listening.close()
        for walk in list(channel.walks):
            walk.cancel()

    def _ear(self, channel: Channel) -> Callable[[Heard], None]:
        def hear(heard: Heard) -> None:
            match heard:
                case Standing():
                    # what was said before nobody has heard: the log knows
                    self._looks.add(channel)
                case Lost():
                    pass
                case payload:
                    self._said(channel, payload)

        return hear

    def _said(self, channel: Channel, payload: bytes) -> None:
        try:
            words = decode(payload)
        except msgspec.DecodeError as error:
            self._report("a word that can't be read", error)
            return
        for word in words:
            if isinstance(word, LogMoved):
                channel.amended.update(dict.fromkeys(word.amended))
                self._looks.add(channel)

    async def _look(self, channel: Channel) -> None:
        if self._cases is None or self._channels.get(channel.log) is not channel:
            return
        try:
            view = await self._cases.logs.now(channel.log)
        except TidingsError as error:
            if error.retryable:
                await asyncio.sleep(_AGAIN_S)
                self._looks.add(channel)
            return
        for each in self._news(self._cases, channel, view):
            self._start(channel, each)

    def _news(self, cases: InboxCases, channel: Channel, view: View) -> list[Told]:
        amended, channel.amended = list(channel.amended), {}
        added, gone = channel.news(view)
        telling = Telling(
            cases, channel.log, channel.crowd, state=channel, clock=self._clock, gave=self._gave
        )
        told = [telling.added(each) for each in added] + [telling.gone(name, view) for name in gone]
        told += [
            telling.amended(showings, view.head)
            for name in amended
            if name not in view.redacted and (showings := view.of(name))
        ]
        too_many = len(told) + len(channel.walks) > AT_ONCE
        return [telling.more(view.head)] if too_many else told

    def _start(self, channel: Channel, told: Told) -> None:
        if self._channels.get(channel.log) is not channel:
            return
        walk = Walk(self._spread_s, self._clock)(channel.crowd, told.notice, told.give)
        task = asyncio.get_running_loop().create_task(walk)
        channel.walks[task] = None
        task.add_done_callback(lambda done: self._ended(channel, done))

    def _ended(self, channel: Channel, walk: asyncio.Task[None]) -> None:
        channel.walks.pop(walk, None)
        if not walk.cancelled() and (error := walk.exception()) is not None:
            self._report("devices were not told of a broadcast", error)

    def _gave(self, count: int) -> None:
        self.pushes += count
