"""Run a test: create users and chats, run their actions, wait until the installation is idle, and check the history."""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Final, Self, final

from tidings_harness.checking.check import check_all
from tidings_harness.checking.verdict import Verdict
from tidings_harness.history.epochs import Epochs
from tidings_harness.history.events import Outcome
from tidings_harness.workload.actions import Group, UserActions
from tidings_harness.workload.light_device import FrameCache, LightDevice
from tidings_harness.workload.run_state import RunState
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.sdk_device import SdkDevice
from tidings_harness.workload.target import RestClient, TargetInstallation
from tidings_wire.frames.history import GetHistory, HistoryPage

_POLL_S: Final = 0.05
_STILL_S: Final = 1.0
_MAX_CONCURRENT: Final = 64
_PAGE: Final = 200
_LIVE_TIMEOUT_S: Final = 180.0
_RESUME_TIMEOUT_S: Final = 180.0

type Among = Callable[[str, str], bool]
"""Select members by chat and user."""


def _everybody(chat: str, user: str) -> bool:
    del chat, user
    return True


@final
class HarnessRun:
    """A run, used with `async with`. All devices are connected when it starts. `finish` returns the verdict."""

    def __init__(
        self, site: TargetInstallation, scenario: Scenario, directory: Path, *, writer: int = 1
    ) -> None:
        self._scenario, self.directory = scenario, directory
        self.site = site
        self._epochs = Epochs(directory, writer)
        self.ledger = RunState(self._epochs.first, self._epochs.following)
        self._frames = FrameCache(self.ledger)
        self._rest_client = RestClient(site)
        self._actions = UserActions(scenario=scenario, ledger=self.ledger, rest_client=self._rest_client)
        self._loops: list[asyncio.Future[None]] = []
        self._mark = uuid.uuid4().hex[:6]
        self.groups: list[Group] = []

    async def __aenter__(self) -> Self:
        wanted = self._scenario
        for _ in range(wanted.groups):
            self.groups.append(await self._found(wanted.members, wanted.devices))
        if wanted.large_chat_members:
            self.groups.append(await self._found(wanted.large_chat_members, devices=1))
        await self._live()
        self.talk()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hush()
        for device in (*self.light_devices(), *self.unknown_users()):
            await device.stop()
        for speaker in self.speakers():
            await speaker.stop()
        await self._rest_client.close()
        self._epochs.close()

    def light_devices(self) -> Iterator[LightDevice]:
        return (device for group in self.groups for device in (*group.devices, *group.erased))

    def speakers(self) -> Iterator[SdkDevice]:
        return (speaker for group in self.groups for speaker in group.speakers)

    def unknown_users(self) -> Iterator[LightDevice]:
        return (group.stranger for group in self.groups if group.stranger)

    def step(self, what: str) -> None:
        self.ledger.recorder.step(what)

    def copied(self, at_ns: int | None = None) -> None:
        """Record the start of a backup, now or at a monotonic time.

        A restore of it must contain every message that was acknowledged before.
        """
        self._epochs.copied_ns = time.monotonic_ns() if at_ns is None else at_ns

    def talk(self) -> None:
        """Start the actions of users, at the beginning or after `hush`."""
        self._loops = [
            asyncio.ensure_future(loop) for group in self.groups for loop in self._actions.of(group)
        ]

    async def hush(self) -> None:
        """Stop the actions of users. Sends in flight continue."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops = []

    async def caught_up(self, within_s: float, among: Among = _everybody) -> float:
        """Return the time until all devices have the entries that are committed now; inf if it takes too long."""
        wanted = {group.chat: self.ledger.heads[group.chat] for group in self.groups}
        return await self._until(lambda: not any(self._lacking(wanted, among)), within_s)

    def behind(self, among: Among = _everybody) -> list[str]:
        """Return the devices that do not have all committed entries."""
        heads = self.ledger.heads
        return [
            f"{each.user}/{each.name} is at {each.positions.get(chat, 0)} of {heads[chat]}"
            for chat, each in self._lacking(heads, among)
        ]

    async def sent_more(self, count: int, within_s: float = _RESUME_TIMEOUT_S) -> None:
        """Wait until `count` further entries are committed in all chats. Raises `TimeoutError` if that takes too long."""
        goal = sum(self.ledger.heads.values()) + count
        if await self._until(lambda: sum(self.ledger.heads.values()) >= goal, within_s) == inf:
            raise TimeoutError(f"Fewer than {count} entries were committed in {within_s} s.")

    async def finish(self, quiet_within_s: float = 60.0) -> Verdict:
        """Wait until the installation is idle and return the verdict on the history."""
        await self.wait_until_idle(quiet_within_s)
        return await asyncio.to_thread(lambda: check_all(self.directory))

    async def wait_until_idle(self, quiet_within_s: float) -> None:
        """Stop all actions and wait for deliveries in flight. Entries that are missing afterwards are lost."""
        await self.hush()
        await self._until(self._is_settled, quiet_within_s)
        await self.caught_up(quiet_within_s)
        await asyncio.sleep(_STILL_S)
        for group in self.groups:
            for each in group.everyone():
                self.ledger.recorder.quiet(each.number)
        self.ledger.recorder.flush()
        await self._last_rows()
        if self._scenario.erases:
            await self._reread()
            await self._try_erased_users()

    async def erased(self, within_s: float) -> None:
        """Wait until all users who are to be erased are. Raises `TimeoutError`."""
        waiting = self._erased_users()
        async with asyncio.timeout(within_s):
            while any(group.to_erase for group in self.groups) or waiting:
                waiting = [
                    user for user in self._erased_users() if not await self._rest_client.is_erased(user)
                ]
                await asyncio.sleep(_POLL_S * 10)
        for user in self._erased_users():
            self.ledger.recorder.erased(self.ledger.recorder.name(user))

    def _erased_users(self) -> list[str]:
        return sorted({device.user for group in self.groups for device in group.erased})

    async def _reread(self) -> None:
        """Read the log of each chat again, with a device of its owner."""
        recorder = self.ledger.recorder
        for group in self.groups:
            device, after = group.devices[0], 0
            while after < self.ledger.heads[group.chat]:
                page = await device.ask(GetHistory(chat=group.chat, after=after, limit=_PAGE))
                if not isinstance(page, HistoryPage) or not page.entries:
                    break
                for entry in page.entries:
                    seen = self.ledger.entry(group.chat, entry)
                    number = recorder.name(group.chat)
                    recorder.reread(number, seen.sequence, seen.message, recorder.name(entry.by))
                after = page.up_to
        recorder.flush()

    async def _try_erased_users(self) -> None:
        live = {device.user for group in self.groups for device in group.erased if device.is_live}
        recorder = self.ledger.recorder
        for user in self._erased_users():
            is_admitted = user in live or await self._rest_client.is_admitted(user)
            recorder.admitted(recorder.name(user), Outcome.OK if is_admitted else Outcome.FAILED)
        recorder.flush()

    async def _found(self, size: int, devices: int) -> Group:
        """Create a group with the given number of members and of light devices for each member."""
        wanted, mark = self._scenario, f"h{self._mark}-{len(self.groups)}"
        members = [f"{mark}-{number}" for number in range(size)]
        chat = await self._rest_client.group(members[0], members[1:])
        return Group(
            chat=chat,
            owner=members[0],
            members=members,
            speakers=[
                SdkDevice(self.site, self.ledger, u, "sdk", [chat]) for u in members[: wanted.speakers]
            ],
            devices=[self._light(user, f"light-{each}") for user in members for each in range(devices)],
            to_erase=members[-1:] if wanted.erases else [],
            stranger=self._light(f"{mark}-stranger", "light") if wanted.unknown_users else None,
        )

    def _light(self, user: str, device: str) -> LightDevice:
        return LightDevice(self.site, self.ledger, self._frames, user, device)

    async def _live(self) -> None:
        for speaker in self.speakers():
            await speaker.start()
        for stranger in self.unknown_users():
            stranger.start({})
        for group in self.groups:
            for some in range(0, len(group.devices), _MAX_CONCURRENT):
                await self._start(group.devices[some : some + _MAX_CONCURRENT], group.chat)
        if (
            await self._until(lambda: all(speaker.is_live for speaker in self.speakers()), _LIVE_TIMEOUT_S)
            == inf
        ):
            raise TimeoutError("Not all users were connected in time.")

    async def _start(self, devices: list[LightDevice], chat: str) -> None:
        for device in devices:
            device.start({chat: 0})
        if await self._until(lambda: all(device.is_live for device in devices), _LIVE_TIMEOUT_S) == inf:
            raise TimeoutError("Not all users were connected in time.")

    def _lacking(
        self, wanted: Mapping[str, int], among: Among
    ) -> Iterator[tuple[str, LightDevice | SdkDevice]]:
        """Yield the devices that lack entries of a chat up to the wanted sequence, or up to the last that the user may read."""
        for group in self.groups:
            chat = group.chat
            for each in group.everyone():
                up_to = min(wanted[chat], self.ledger.must_hold(chat, each.user))
                if each.positions.get(chat, 0) < up_to and among(chat, each.user):
                    yield chat, each

    def _is_settled(self) -> bool:
        return all(speaker.pending == 0 for speaker in self.speakers()) and not any(
            group.in_flight for group in self.groups
        )

    async def _last_rows(self) -> None:
        users = [user for group in self.groups for user in group.members]
        for some in range(0, len(users), _MAX_CONCURRENT):
            await asyncio.gather(
                *(self._actions.list_rows(user) for user in users[some : some + _MAX_CONCURRENT])
            )

    async def _until(self, holds: Callable[[], bool], within_s: float) -> float:
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > within_s:
                return inf
            await asyncio.sleep(_POLL_S)
        return time.monotonic() - began
