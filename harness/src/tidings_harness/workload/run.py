"""A run: makes people and chats, lets them live, waits at the end until all is quiet, and has the history checked."""

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
from tidings_harness.workload.actions import Group, UserActions
from tidings_harness.workload.light_device import FrameCache, LightDevice
from tidings_harness.workload.run_state import RunState
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.sdk_device import SdkDevice
from tidings_harness.workload.target import RestClient, TargetInstallation

_POLL_S: Final = 0.05
_STILL_S: Final = 1.0
_MAX_CONCURRENT: Final = 64
_LIVE_TIMEOUT_S: Final = 180.0
_RESUME_TIMEOUT_S: Final = 180.0

type Among = Callable[[str, str], bool]
"""Whether a chat's member is asked about: by the chat and the user."""


def _everybody(chat: str, user: str) -> bool:
    del chat, user
    return True


@final
class HarnessRun:
    """`async with` it: everybody is live when it begins. `finish` says what the history says."""

    def __init__(
        self, site: TargetInstallation, scenario: Scenario, directory: Path, *, writer: int = 1
    ) -> None:
        self._scenario, self._directory = scenario, directory
        self.site = site
        self._epochs = Epochs(directory, writer)
        self.ledger = RunState(self._epochs.first, self._epochs.following)
        self._frames = FrameCache(self.ledger)
        self._rest_client = RestClient(site)
        self._deeds = UserActions(scenario=scenario, ledger=self.ledger, rest_client=self._rest_client)
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
        return (device for group in self.groups for device in group.devices)

    def speakers(self) -> Iterator[SdkDevice]:
        return (speaker for group in self.groups for speaker in group.speakers)

    def unknown_users(self) -> Iterator[LightDevice]:
        return (group.stranger for group in self.groups if group.stranger)

    def step(self, what: str) -> None:
        self.ledger.recorder.step(what)

    def copied(self) -> None:
        """A copy of the installation is about to be made. If it is put back, what is acknowledged until now must stand."""
        self._epochs.copied_ns = time.monotonic_ns()

    def talk(self) -> None:
        """Start what people do, at the beginning or after `hush`."""
        self._loops = [asyncio.ensure_future(loop) for group in self.groups for loop in self._deeds.of(group)]

    async def hush(self) -> None:
        """Stop what people do. Sends that are in flight go on."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops = []

    async def caught_up(self, within_s: float, among: Among = _everybody) -> float:
        """Return how long it took until everybody held what was committed at the moment of asking. inf: not in time."""
        wanted = {group.chat: self.ledger.heads[group.chat] for group in self.groups}
        return await self._until(lambda: not any(self._lacking(wanted, among)), within_s)

    def behind(self, among: Among = _everybody) -> list[str]:
        """Name the devices that do not hold what is committed by now."""
        heads = self.ledger.heads
        return [
            f"{each.user}/{each.name} is at {each.positions.get(chat, 0)} of {heads[chat]}"
            for chat, each in self._lacking(heads, among)
        ]

    async def sent_more(self, count: int, within_s: float = _RESUME_TIMEOUT_S) -> None:
        """Until so many more entries were committed, over all chats; `TimeoutError` if people can't go on."""
        goal = sum(self.ledger.heads.values()) + count
        if await self._until(lambda: sum(self.ledger.heads.values()) >= goal, within_s) == inf:
            raise TimeoutError(f"Not even {count} more entries were committed in {within_s} s.")

    async def finish(self, quiet_within_s: float = 60.0) -> Verdict:
        """`wait_until_idle`, and what the history says then."""
        await self.wait_until_idle(quiet_within_s)
        return await asyncio.to_thread(lambda: check_all(self._directory))

    async def wait_until_idle(self, quiet_within_s: float) -> None:
        """Nobody says anything new; what is under way arrives; then what is missing is lost."""
        await self.hush()
        await self._until(self._is_settled, quiet_within_s)
        await self.caught_up(quiet_within_s)
        await asyncio.sleep(_STILL_S)
        for group in self.groups:
            for each in group.everyone():
                self.ledger.recorder.quiet(each.number)
        self.ledger.recorder.flush()
        await self._last_rows()

    async def _found(self, size: int, devices: int) -> Group:
        """A group of so many, with so many light devices each."""
        wanted, mark = self._scenario, f"h{self._mark}-{len(self.groups)}"
        members = [f"{mark}-{who}" for who in range(size)]
        chat = await self._rest_client.group(members[0], members[1:])
        return Group(
            chat=chat,
            owner=members[0],
            members=members,
            speakers=[
                SdkDevice(self.site, self.ledger, u, "sdk", [chat]) for u in members[: wanted.speakers]
            ],
            devices=[self._light(user, f"light-{each}") for user in members for each in range(devices)],
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
            raise TimeoutError("Not everybody came to be connected in time.")

    async def _start(self, devices: list[LightDevice], chat: str) -> None:
        for device in devices:
            device.start({chat: 0})
        if await self._until(lambda: all(device.is_live for device in devices), _LIVE_TIMEOUT_S) == inf:
            raise TimeoutError("Not everybody came to be connected in time.")

    def _lacking(
        self, wanted: Mapping[str, int], among: Among
    ) -> Iterator[tuple[str, LightDevice | SdkDevice]]:
        """Yield the devices that do not hold a chat up to where it is wanted, or as far as their user may see it."""
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
                *(self._deeds.list_rows(user) for user in users[some : some + _MAX_CONCURRENT])
            )

    async def _until(self, holds: Callable[[], bool], within_s: float) -> float:
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > within_s:
                return inf
            await asyncio.sleep(_POLL_S)
        return time.monotonic() - began
