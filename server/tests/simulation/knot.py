"""The end of some seeds: a few things at once, and nobody says anything after them that would heal what they left.

Most of what keeps delivery right is an order of two steps, and shows only if a third falls between them.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from simulation.device import Body, Device
from simulation.record import Operation
from simulation.server import Gateway

from tidings.chats.manage import Caller
from tidings.kernel.ids import ChatId, ClientKey, UserId

if TYPE_CHECKING:
    from simulation.scenario import Scenario
    from simulation.town import Town

type Strand = tuple[float, Callable[[], None]]

_AWAY_S: Final = 2.0
_LOOKS: Final = 6
_SETTLES_S: Final = 12.0
"""Longer than a heartbeat: what went before it is healed, and does not hide what comes now."""


class Knot:
    def __init__(self, scenario: "Scenario") -> None:
        self._scenario = scenario
        self._town: Town = scenario.town
        self._chance: Random = scenario.chance
        self._within_s = self._chance.choice((0.01, 0.03, 0.1))

    def tie(self) -> None:
        town, chance = self._town, self._chance
        if chance.random() < 0.7:
            town.network.calm()
        town.redis.is_away = False
        town.start_all()
        for device in town.devices:
            device.want(is_in=True)
        self._run(_SETTLES_S)
        coming = self._some_leave()
        self._run(_AWAY_S)
        for at_s, strand in [*(self._comes(device) for device in coming), *self._strands()]:
            town.scheduler.outside.call_later(at_s, strand)
        self._run(1.0)

    def _run(self, seconds: float) -> None:
        scheduler = self._town.scheduler
        scheduler.run_until(lambda: False, scheduler.now + seconds)

    def _some_leave(self) -> list[Device]:
        """Some with the user's other device, some without."""
        leaving = [device for device in self._town.devices if self._chance.random() < 0.4]
        for device in leaving:
            device.want(is_in=False)
        return leaving

    def _comes(self, device: Device) -> Strand:
        return self._at_once(), lambda: device.want(is_in=True)

    def _at_once(self) -> float:
        return self._chance.random() * self._within_s

    def _soon(self) -> float:
        """While what was begun at once goes its way: a send takes a third of a second from device to device."""
        return self._chance.random() * 0.5

    def _strands(self) -> list[Strand]:
        chance = self._chance
        strands = [(self._at_once(), self._says()) for _ in range(chance.choice((1, 1, 2)))]
        if chance.random() < 0.35:
            strands.append((self._soon(), self._town.redis.break_lines))
        if len(self._scenario.chats) > 1 and chance.random() < 0.6:
            strands += self._parting()
        return strands

    def _says(self) -> Callable[[], None]:
        chance, key = self._chance, self._scenario.key()
        user, draw = chance.choice(self._scenario.users[:2]), chance.random()

        def say() -> None:
            device = self._there(user, draw)
            if device is not None:
                chat = self._group(device) if draw < 0.7 else min(device.positions)
                body: Body = {"chat": chat, "client_message_id": key, "text": f"words of {key}"}
                device.post(Operation("send", user, body | {"after": device.positions[ChatId(chat)]}))

        return say

    def _parting(self) -> list[Strand]:
        """Somebody is taken out of the group while others talk, and he looks into it all the while."""
        scenario, users = self._scenario, self._scenario.users
        chat, who = scenario.chats[1], self._chance.choice(users[1:])
        caller = Caller(users[0], ClientKey(scenario.key()))

        def part() -> None:
            self._town.manage(f"out {who}", lambda gateway: gateway.manage.remove(chat, caller, who))

        async def look(gateway: Gateway) -> None:
            for _ in range(_LOOKS):
                page = await gateway.history.before(chat, who, None, 20)
                shown = [each.entry.sequence for each in page.entries]
                self._town.record.pages.append((who, chat.chat, shown))

        def watch() -> None:
            self._town.manage(f"{who} looks", look)

        looks = [(self._at_once(), watch) for _ in range(3)]
        return [(self._at_once(), part), *looks, *((self._soon(), self._says()) for _ in range(8))]

    def _there(self, user: UserId, draw: float) -> Device | None:
        there = [d for d in self._town.devices if d.user == user and d.is_live and d.positions]
        return there[int(draw * len(there))] if there else None

    def _group(self, device: Device) -> str:
        return max(device.positions)
