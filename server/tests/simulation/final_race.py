"""The end of some seeds: a few concurrent actions, and no later message that would repair their effects.

Most rules of delivery are an order of two steps, and a violation shows only if a third step falls between them.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from simulation import checks, late_delivery
from simulation.device import Body, Device
from simulation.record import Operation
from simulation.server import Gateway

from tidings.chats.commands import ChangeContext
from tidings.kernel.ids import ChatId, ClientKey, UserId

if TYPE_CHECKING:
    from simulation.scenario import Scenario
    from simulation.world import SimulatedWorld

type RaceTask = tuple[float, Callable[[], object]]
type RaceKind = Callable[[FinalRace], list[RaceTask]]

_AWAY_S: Final = 2.0
_ENDS_S: Final = 1.0
_LOOKS: Final = 6
_SETTLES_S: Final = 12.0
"""Longer than a heartbeat: effects of earlier faults are repaired and do not hide the effects of this race."""


class FinalRace:
    def __init__(self, scenario: "Scenario") -> None:
        self._scenario = scenario
        self.world: SimulatedWorld = scenario.world
        self.chance: Random = scenario.chance
        self._within_s = self.chance.choice((0.01, 0.03, 0.1))

    def tie(self) -> None:
        world, chance = self.world, self.chance
        if chance.random() < 0.7:
            world.network.calm()
        world.redis.repair()
        world.start_all()
        for device in world.devices:
            device.want(is_in=True)
        self._run(_SETTLES_S)
        strands = self._kind()(self)
        for at_s, strand in strands:
            world.scheduler.outside.call_later(at_s, strand)
        self._run(max(at_s for at_s, _ in strands) + _ENDS_S)

    def _kind(self) -> RaceKind:
        """Choose a race. Those that remove a member need a group with other members."""
        if not self.others():
            return FinalRace.together
        if self._scenario.grows_in_race:
            return late_delivery.grows_late
        kinds, weights = zip(*(_KINDS_IF_LARGE if self._scenario.grows else _KINDS), strict=True)
        kind: RaceKind = self.chance.choices(kinds, weights)[0]
        return kind

    def _run(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.run_until(lambda: False, scheduler.now + seconds)

    def together(self) -> list[RaceTask]:
        """Let some devices reconnect while other users send messages."""
        coming = [device for device in self.world.devices if self.chance.random() < 0.4]
        self.go(coming)
        return [*(self._comes(device) for device in coming), *self._strands()]

    def go(self, leaving: Sequence[Device]) -> None:
        for device in leaving:
            device.want(is_in=False)
        self._run(_AWAY_S)

    def _comes(self, device: Device) -> RaceTask:
        return self.at_once(), lambda: device.want(is_in=True)

    def at_once(self) -> float:
        return self.chance.random() * self._within_s

    def soon(self) -> float:
        """Return a time during which concurrent actions are in flight: a send takes 0.3 s from device to device."""
        return self.chance.random() * 0.5

    def _strands(self) -> list[RaceTask]:
        chance = self.chance
        strands: list[RaceTask] = [(self.at_once(), self.says()) for _ in range(chance.choice((1, 1, 2)))]
        if chance.random() < 0.35:
            redis = self.world.redis
            strands.append(
                (self.soon(), chance.choice((redis.lose_subscriptions, redis.lose_at_next_publish)))
            )
        if len(self._scenario.chats) > 1 and chance.random() < 0.6:
            strands += self._parting()
        return strands

    def says(self, *, to_group: bool = False) -> Callable[[], None]:
        """Return a step that sends a message. In the group the sender is the first user, who is never removed."""
        chance, key = self.chance, self._scenario.key()
        user, draw = chance.choice(self._scenario.users[: 1 if to_group else 2]), chance.random()

        def say() -> None:
            device = self._there(user, draw)
            if device is not None:
                chat = self._group(device) if to_group or draw < 0.7 else min(device.positions)
                body: Body = {"chat": chat, "client_message_id": key, "text": f"words of {key}"}
                device.post(Operation("send", user, body | {"after": device.positions[ChatId(chat)]}))

        return say

    def parts(self, user: UserId) -> Callable[[], None]:
        chat, caller = (
            self._scenario.chats[1],
            ChangeContext(self._scenario.users[0], ClientKey(self._scenario.key())),
        )
        return lambda: self.world.manage(
            f"out {user}", lambda gateway: gateway.manage.remove(chat, caller, user)
        )

    def grows(self) -> Callable[[], None]:
        return self._scenario.move(self._scenario.users[-1], is_in=True)

    def others(self) -> list[UserId]:
        """Return the members of the group who may be removed."""
        if len(self._scenario.chats) < 2:
            return []
        log = checks.logs(self.world).get(self._scenario.chats[1].chat, {})
        stays = checks.stays_in(log)
        return [u for u in self._scenario.users[1:] if u in stays and stays[u][-1].removed is None]

    def _parting(self) -> list[RaceTask]:
        """Remove a member of the group while others send and the removed member reads the history repeatedly."""
        chat, user = self._scenario.chats[1], self.chance.choice(self._scenario.users[1:])

        async def look(gateway: Gateway) -> None:
            for _ in range(_LOOKS):
                page = await gateway.history.before(chat, user, None, 20)
                shown = [each.entry.sequence for each in page.entries]
                self.world.record.pages.append((user, chat.chat, shown))

        def watch() -> None:
            self.world.manage(f"{user} looks", look)

        looks: list[RaceTask] = [(self.at_once(), watch) for _ in range(3)]
        return [(self.at_once(), self.parts(user)), *looks, *((self.soon(), self.says()) for _ in range(8))]

    def _there(self, user: UserId, draw: float) -> Device | None:
        live = [d for d in self.world.devices if d.user == user and d.is_live and d.positions]
        return live[int(draw * len(live))] if live else None

    def _group(self, device: Device) -> str:
        return max(device.positions)


_KINDS_IF_LARGE: list[tuple[RaceKind, float]] = [(FinalRace.together, 3), (late_delivery.leave_read_first, 3)]
_KINDS: list[tuple[RaceKind, float]] = [
    (FinalRace.together, 6),
    (late_delivery.heir_hears_less, 1),
    (late_delivery.late_then_leave, 1),
    (late_delivery.leave_read_first, 0.5),
]
