"""The actions of users during a run. Each is a loop that ends when it is cancelled."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Final

import httpx

from tidings_harness.history.events import EventKind, Outcome
from tidings_harness.workload.light_device import LightDevice
from tidings_harness.workload.run_state import RunState, entry_text
from tidings_harness.workload.scenario import Scenario
from tidings_harness.workload.sdk_device import SdkDevice
from tidings_harness.workload.target import RestClient
from tidings_sdk.errors import RequestTimeout
from tidings_wire.frames.messages import CommitResult, Send
from tidings_wire.frames.structs import Body, ErrorBody

_MAX_IN_FLIGHT: Final = 64
_STALE_BY: Final = 7
_BEFORE_ERASURE: Final = 5
_COMES_BACK: Final = 7
"""A member can have eight membership intervals."""


@dataclass(slots=True, kw_only=True)
class Group:
    """A chat with its users. The owner and the speakers remain members; others may be removed and rejoin.

    to_erase: members who are not removed, because they are erased. erased: devices of users who were.
    """

    chat: str
    owner: str
    members: list[str]
    speakers: list[SdkDevice]
    devices: list[LightDevice]
    stranger: LightDevice | None = None
    in_flight: set[asyncio.Task[Outcome]] = field(default_factory=set)
    to_erase: list[str] = field(default_factory=list)
    erased: list[LightDevice] = field(default_factory=list)
    to_remove: Iterator[str] = field(init=False)
    """Return each of the other members in turn, as often as a member may rejoin."""

    def __post_init__(self) -> None:
        others = [each for each in self.members[len(self.speakers) :] if each not in self.to_erase]
        self.to_remove = iter(others * _COMES_BACK)

    def retire(self, user: str) -> None:
        """Expect nothing more of the devices of a user who is erased."""
        self.members.remove(user)
        self.erased += [device for device in self.devices if device.user == user]
        self.devices = [device for device in self.devices if device.user != user]

    def everyone(self) -> list[LightDevice | SdkDevice]:
        return [*self.devices, *self.speakers]


@dataclass(slots=True, kw_only=True)
class UserActions:
    scenario: Scenario
    ledger: RunState
    rest_client: RestClient

    def of(self, group: Group) -> list[Coroutine[None, None, None]]:
        wanted = self.scenario
        loops: list[Coroutine[None, None, None]] = [self._talk(group)]
        if wanted.stutters and group.devices:
            loops.append(self._every(0.7, lambda: self._stutter(group)))
        if wanted.reads:
            loops.append(self._every(0.4, lambda: self._read(group)))
        if wanted.churns:
            loops.append(self._every(1.5, lambda: self._churn(group)))
        if wanted.moderates and len(group.speakers) > 1:
            loops.append(self._every(2.0, lambda: self._mute(group)))
        if group.to_erase:
            loops.append(self._every(1.0, lambda: self._erase(group)))
        if group.stranger is not None:
            stranger = group.stranger
            loops.append(self._every(1.1, lambda: self._intrude(group, stranger)))
        return loops

    async def list_rows(self, user: str) -> None:
        asked_ns = time.monotonic_ns()
        recorder = self.ledger.recorder
        for row in await self.rest_client.chats(user):
            recorder.row(
                recorder.name(user), recorder.name(row.chat), asked_ns, read=row.read, unread=row.unread
            )
        recorder.flush()

    async def _every(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        """Repeat an action. If it is rejected or not answered during a fault, the next round tries again."""
        while True:
            await asyncio.sleep(seconds * random.uniform(0.7, 1.3))  # noqa: S311 - spreads load
            try:
                await action()
            except (httpx.HTTPError, RequestTimeout, TimeoutError):
                continue

    async def _talk(self, group: Group) -> None:
        """Send in an open loop: slow answers do not reduce the rate, up to a bound."""
        for speaker in itertools.cycle(group.speakers):
            await asyncio.sleep(random.expovariate(self.scenario.rate))
            if len(group.in_flight) < _MAX_IN_FLIGHT:
                task = asyncio.create_task(speaker.send(group.chat, self.scenario.text_bytes))
                group.in_flight.add(task)
                task.add_done_callback(group.in_flight.discard)

    async def _stutter(self, group: Group) -> None:
        """Send the same frame twice, as a client does that lost the first answer."""
        await self._say(group, group.devices[0], times=2)

    async def _intrude(self, group: Group, stranger: LightDevice) -> None:
        """Send without the SDK as a user who is not a member. The SDK would read the log first and be rejected there."""
        await self._say(group, stranger, times=1)

    async def _say(self, group: Group, device: LightDevice, times: int) -> None:
        recorder, chat = self.ledger.recorder, self.ledger.recorder.name(group.chat)
        message = recorder.new_message()
        send = Send(
            chat=group.chat,
            client_message_id=f"harness-{message:x}",
            after=self.ledger.heads[group.chat],
            text=entry_text(message, self.scenario.text_bytes),
        )
        recorder.begin(EventKind.SEND, device=device.number, chat=chat, message=message)
        for _ in range(times):
            answer = await device.ask(send)
            sequence = answer.sequence if isinstance(answer, CommitResult) else 0
            self.ledger.committed(group.chat, sequence)
            recorder.end(
                EventKind.SENT,
                _outcome(answer),
                device=device.number,
                chat=chat,
                message=message,
                sequence=sequence,
            )

    async def _erase(self, group: Group) -> None:
        """Let a member write, then have the server erase them."""
        if not group.to_erase:
            return
        user = group.to_erase[-1]
        device = next(each for each in group.devices if each.user == user)
        for _ in range(_BEFORE_ERASURE):
            await self._say(group, device, times=1)
        await self.rest_client.erase(user)
        group.to_erase.pop()
        group.retire(user)

    async def _read(self, group: Group) -> None:
        """Mark as read, then again at an older sequence as a lagging device does. The watermark must not move back."""
        speaker = random.choice(group.speakers)  # noqa: S311 - no secret
        position = speaker.positions.get(group.chat, 0)
        if position > _STALE_BY:
            reads = [await speaker.read(group.chat, place) for place in (position, position - _STALE_BY)]
            # Race: the API answers after a restore or failover, and no device has learned of the new epoch yet. Its rows
            # would be recorded as rows of the old epoch. No read is acknowledged meanwhile.
            if all(reads):
                await self.list_rows(speaker.user)

    async def _churn(self, group: Group) -> None:
        user = next(group.to_remove, None)
        if user is None:
            return
        is_ban = self.scenario.moderates
        if is_ban:
            await self.rest_client.ban(group.chat, group.owner, user)
        else:
            await self.rest_client.remove(group.chat, group.owner, user)
        await asyncio.sleep(random.uniform(0.1, 0.8))  # noqa: S311 - spreads load
        if is_ban:
            await self._add_banned(group, user)
            await self.rest_client.unban(group.chat, group.owner, user)
        await self.rest_client.add(group.chat, group.owner, user)

    async def _add_banned(self, group: Group, user: str) -> None:
        """Try to add a banned user. The checker detects an installation that adds them."""
        try:
            await self.rest_client.add(group.chat, group.owner, user)
        except httpx.HTTPStatusError as refused:
            if refused.response.status_code != httpx.codes.FORBIDDEN:
                raise

    async def _mute(self, group: Group) -> None:
        """Mute the last speaker while they send. The checker detects a message after the mute."""
        user = group.speakers[-1].user
        await self.rest_client.mute(group.chat, group.owner, user)
        try:
            await asyncio.sleep(random.uniform(0.1, 0.8))  # noqa: S311 - spreads load
        finally:
            await self.rest_client.unmute(group.chat, group.owner, user)


def _outcome(answer: Body) -> Outcome:
    """Return the outcome of a send. Without a permanent error it is unknown, because the send may have succeeded."""
    if isinstance(answer, CommitResult):
        return Outcome.OK
    is_final = isinstance(answer, ErrorBody) and not answer.retryable and answer.code != "internal"
    return Outcome.FAILED if is_final else Outcome.UNKNOWN
