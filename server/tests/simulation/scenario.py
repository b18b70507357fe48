"""The scenario of a seed: users and chats, their actions, the faults, and a quiet end.

All of it is drawn in advance.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from unittest.mock import patch

from simulation import checks
from simulation.device import Body, Device
from simulation.faults import FAULTS, Fault
from simulation.final_race import FinalRace
from simulation.record import Operation
from simulation.server import TENANT, Gateway
from simulation.world import SimulatedWorld

from tidings.chats.commands import ChangeContext
from tidings.chats.model import MAX_SMALL_MEMBERS, direct_chat_key, group_chat_key
from tidings.chats.store import chats as chat_store
from tidings.kernel.ids import ChatKey, ClientKey, UserId

_SETTLES_WITHIN_S = 150.0
_LOOK_EVERY_S = 3.0
_USERS = [UserId(name) for name in ("anna", "ben", "cleo", "dora")]


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of a seed."""

    steps: int = 24
    lasts_s: float = 20.0


class Scenario:
    def __init__(self, world: SimulatedWorld, seed: int, scale: Scale) -> None:
        self.world = world
        self.chance = Random(f"{seed}/scenario")
        self.scale = scale
        self.chats: list[ChatKey] = []
        self._number = 0
        self._bursts = [self.chance.random() for _ in range(3)]
        self._has_race = self.chance.random() < 0.5
        self.grows = self.chance.random() < 0.2
        self.grows_in_race = self.grows and self._has_race and self.chance.random() < 0.4
        sizes = (4,) if self.grows else (2, 3, 3, 4) if self._has_race else (2, 2, 3, 4)
        self.users = _USERS[: self.chance.choice(sizes)]

    def run(self) -> list[str]:
        """Run the scenario. In seeds with growth, the fourth member makes a chat large instead of the 101st."""
        with patch.object(chat_store, "MAX_SMALL_MEMBERS", 3 if self.grows else MAX_SMALL_MEMBERS):
            return self._run()

    def _run(self) -> list[str]:
        self._found()
        for _ in range(self.chance.choice((6, 10, 16, self.scale.steps)) if not self._has_race else 5):
            self._at_some_time(self._draw())
        for fault in self._faults():
            self._at_some_time(fault(self.world, self.chance))
        self._run_to(1.0)
        self._worsen_network()
        self._run_to(self.scale.lasts_s + 1.0)
        if self._has_race:
            FinalRace(self).tie()
        self._quiet()
        return list(checks.breaches(self.world))

    def _at_some_time(self, step: Callable[[], None]) -> None:
        """Schedule a step, often close to others.

        A race needs two concurrent steps, and no later step that repairs its effect.
        """
        chance = self.chance
        at = (
            chance.choice(self._bursts) + chance.random() * 0.02 if chance.random() < 0.6 else chance.random()
        )
        self.world.scheduler.outside.call_at(1.0 + min(at, 1.0) * self.scale.lasts_s, step)

    def _faults(self) -> list[Fault]:
        """Draw faults of a few kinds, each several times, which also finds bugs that need two faults of one kind."""
        kinds = self.chance.sample(FAULTS, self.chance.choice((0, 1, 1, 2, 3)))
        return [self.chance.choice(kinds) for _ in range(self.chance.randint(1, 4))] if kinds else []

    def _run_to(self, at: float) -> None:
        self.world.scheduler.run_until(lambda: False, at)

    def _found(self) -> None:
        world, chance = self.world, self.chance
        world.gateways = [None] * chance.choice((1, 2, 2))
        world.workers = [None] * chance.choice((1, 2))
        world.relays = [None]
        world.start_all()
        for user in self.users:
            for _ in range(2 if self._has_race else chance.choice((1, 1, 2))):
                world.device(user)
        self._make_chats()

    def _make_chats(self) -> None:
        anna, ben, *_ = self.users
        self.chats.append(direct_chat_key(TENANT, anna, ben))
        self.world.manage("direct", lambda gateway: gateway.manage.direct(TENANT, anna, ben))
        if len(self.users) > 2:
            caller = ChangeContext(anna, ClientKey("our group"))
            others = self.users[1 : 3 if self.grows else self.chance.randint(2, len(self.users))]
            self.chats.append(group_chat_key(TENANT, anna, caller.client_key))
            self.world.manage("group", lambda gateway: gateway.manage.group(TENANT, caller, "us", others))
        if self.grows and not self.grows_in_race:
            self._at_some_time(self.move(self.users[-1], is_in=True))

    def _worsen_network(self) -> None:
        """Draw the network conditions.

        Not every seed has every fault: some bugs show only in the absence of another fault.
        """
        chance = self.chance
        if chance.random() < 0.85:
            self.world.network.worsen(
                lost=chance.choice((0, 0, 5, 30, 80)),
                slow=chance.choice((0, 20, 100, 300)),
                refused=chance.choice((0, 0, 20, 100)),
            )

    def _draw(self) -> Callable[[], None]:
        kinds, weights = zip(*_STEPS, strict=True)
        step: Callable[[Scenario], Callable[[], None]] = self.chance.choices(kinds, weights)[0]
        return step(self)

    def _quiet(self) -> None:
        world = self.world
        world.scheduler.tell("quiet")
        world.network.calm()
        world.redis.repair()
        world.start_all()
        for device in world.devices:
            device.want(is_in=True)
        ends_at, was_settled = world.scheduler.now + _SETTLES_WITHIN_S, False
        while world.scheduler.now < ends_at:
            self._run_to(world.scheduler.now + _LOOK_EVERY_S)
            is_settled = checks.is_settled(world)
            if is_settled and was_settled:
                break
            was_settled = is_settled

    def _device(self) -> Callable[[], Device]:
        number = self.chance.randrange(100)
        return lambda: self.world.devices[number % len(self.world.devices)]

    def key(self) -> str:
        self._number += 1
        return f"k{self._number}"

    def send(self) -> Callable[[], None]:
        device, draw, key = self._device(), self.chance.random(), self.key()
        is_keyed = self.chance.random() < 0.1

        def step() -> None:
            known = sorted(device().positions)
            chat = known[int(draw * len(known))] if known else self.chats[0].chat
            body: Body = {"chat": chat, "client_message_id": key, "text": f"words of {key}"}
            if known and not is_keyed:
                body["after"] = device().positions[chat]
            device().post(Operation("send", device().user, body))

        return step

    def change(self) -> Callable[[], None]:
        """Edit or redact one of the user's own messages, or react to any message, if the device has one."""
        device, draw, key = self._device(), self.chance.random(), self.key()
        kind = self.chance.choice(("edit", "redact", "react"))

        def step() -> None:
            mine = [
                (chat, n)
                for chat, held in sorted(device().held.items())
                for n, entry in held.items()
                if (entry["by"] == device().user or kind == "react")
                and entry.get("kind", "message") == "message"
            ]
            if mine:
                chat, sequence = mine[int(draw * len(mine))]
                body = {"chat": chat, "client_message_id": key, "sequence": sequence}
                more = {"edit": {"text": f"better words of {key}"}, "react": {"emoji": "👍"}}.get(kind, {})
                after = {"after": device().positions[chat]}
                device().post(Operation(kind, device().user, {**body, **more, **after}))

        return step

    def read(self) -> Callable[[], None]:
        device, draw = self._device(), self.chance.random()

        def step() -> None:
            known = sorted(chat for chat, at in device().positions.items() if at)
            if known:
                chat = known[int(draw * len(known))]
                body = {"chat": chat, "sequence": device().positions[chat]}
                device().post(Operation("read", device().user, body))

        return step

    def come_or_go(self) -> Callable[[], None]:
        """Add or remove a member of a group, except of one that grows in the final race, which must be full."""
        if len(self.chats) < 2 or self.grows_in_race:
            return self.send()
        return self.move(self.chance.choice(self.users[1:]), is_in=self.chance.random() < 0.5)

    def move(self, user: UserId, *, is_in: bool) -> Callable[[], None]:
        chat, caller = self.chats[1], ChangeContext(self.users[0], ClientKey(self.key()))

        def ask(gateway: Gateway) -> object:
            if is_in:
                return gateway.manage.add(chat, caller, [user])
            return gateway.manage.remove(chat, caller, user)

        what = f"{'in' if is_in else 'out'} {user}"
        return lambda: self.world.manage(what, ask)  # type: ignore[arg-type]

    def go_away(self) -> Callable[[], None]:
        device, away_s = self._device(), self.chance.random() * 8

        def step() -> None:
            gone = device()
            gone.want(is_in=False)
            self.world.scheduler.outside.call_later(away_s, lambda: gone.want(is_in=True))

        return step

    def cut(self) -> Callable[[], None]:
        device = self._device()
        return lambda: device().lose_wire()

    def new_device(self) -> Callable[[], None]:
        user = self.chance.choice(self.users)
        return lambda: void(self.world.device(user))


def void(_: object) -> None:
    """Ignore the argument."""


_STEPS: list[tuple[Callable[[Scenario], Callable[[], None]], float]] = [
    (Scenario.send, 12),
    (Scenario.change, 2),
    (Scenario.read, 2),
    (Scenario.come_or_go, 3),
    (Scenario.go_away, 4),
    (Scenario.cut, 2),
    (Scenario.new_device, 0.7),
]
