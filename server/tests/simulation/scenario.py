"""What happens in a seed: people and chats, what they do, what goes wrong, and then quiet. All of it drawn at once."""

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

from tidings.chats import store
from tidings.chats.commands import ChangeContext
from tidings.chats.model import MAX_SMALL_MEMBERS, direct_chat_key, group_chat_key
from tidings.kernel.ids import ChatKey, ClientKey, UserId

_SETTLES_WITHIN_S = 150.0
_LOOK_EVERY_S = 3.0
_USERS = [UserId(name) for name in ("anna", "ben", "cleo", "dora")]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of a seed there is."""

    steps: int = 24
    lasts_s: float = 20.0


class Scenario:
    def __init__(self, town: SimulatedWorld, seed: int, scale: Scale) -> None:
        self.town = town
        self.chance = Random(f"{seed}/scenario")
        self.scale = scale
        self.chats: list[ChatKey] = []
        self._number = 0
        self._bursts = [self.chance.random() for _ in range(3)]
        self._has_knot = self.chance.random() < 0.5
        self.grows = self.chance.random() < 0.2
        self.grows_in_knot = self.grows and self._has_knot and self.chance.random() < 0.4
        sizes = (4,) if self.grows else (2, 3, 3, 4) if self._has_knot else (2, 2, 3, 4)
        self.users = _USERS[: self.chance.choice(sizes)]

    def play(self) -> list[str]:
        """In seeds that grow, the fourth member makes a chat large, not the hundred and first."""
        with patch.object(store, "MAX_SMALL_MEMBERS", 3 if self.grows else MAX_SMALL_MEMBERS):
            return self._play()

    def _play(self) -> list[str]:
        self._found()
        for _ in range(self.chance.choice((6, 10, 16, self.scale.steps)) if not self._has_knot else 5):
            self._at_some_time(self._draw())
        for fault in self._faults():
            self._at_some_time(fault(self.town, self.chance))
        self._run_to(1.0)
        self._spoil_weather()
        self._run_to(self.scale.lasts_s + 1.0)
        if self._has_knot:
            FinalRace(self).tie()
        self._quiet()
        return list(checks.breaches(self.town))

    def _at_some_time(self, step: Callable[[], None]) -> None:
        """Often close together: a race needs two who come at once, and nobody who comes later and heals it."""
        chance = self.chance
        at = (
            chance.choice(self._bursts) + chance.random() * 0.02 if chance.random() < 0.6 else chance.random()
        )
        self.town.scheduler.outside.call_at(1.0 + min(at, 1.0) * self.scale.lasts_s, step)

    def _faults(self) -> list[Fault]:
        """Of a few kinds, several times: what needs two of one kind is found so, too."""
        kinds = self.chance.sample(FAULTS, self.chance.choice((0, 1, 1, 2, 3)))
        return [self.chance.choice(kinds) for _ in range(self.chance.randint(1, 4))] if kinds else []

    def _run_to(self, at: float) -> None:
        self.town.scheduler.run_until(lambda: False, at)

    def _found(self) -> None:
        town, chance = self.town, self.chance
        town.gateways = [None] * chance.choice((1, 2, 2))
        town.workers = [None] * chance.choice((1, 2))
        town.relays = [None]
        town.start_all()
        for user in self.users:
            for _ in range(2 if self._has_knot else chance.choice((1, 1, 2))):
                town.device(user)
        self._make_chats()

    def _make_chats(self) -> None:
        anna, ben, *_ = self.users
        self.chats.append(direct_chat_key(TENANT, anna, ben))
        self.town.manage("direct", lambda gateway: gateway.manage.direct(TENANT, anna, ben))
        if len(self.users) > 2:
            caller = ChangeContext(anna, ClientKey("our group"))
            others = self.users[1 : 3 if self.grows else self.chance.randint(2, len(self.users))]
            self.chats.append(group_chat_key(TENANT, anna, caller.client_key))
            self.town.manage("group", lambda gateway: gateway.manage.group(TENANT, caller, "us", others))
        if self.grows and not self.grows_in_knot:
            self._at_some_time(self.move(self.users[-1], is_in=True))

    def _spoil_weather(self) -> None:
        """Not every fault in every seed: some are found only where another is missing."""
        chance = self.chance
        if chance.random() < 0.85:
            self.town.network.worsen(
                lost=chance.choice((0, 0, 5, 30, 80)),
                slow=chance.choice((0, 20, 100, 300)),
                refused=chance.choice((0, 0, 20, 100)),
            )

    def _draw(self) -> Callable[[], None]:
        kinds, weights = zip(*_STEPS, strict=True)
        step: Callable[[Scenario], Callable[[], None]] = self.chance.choices(kinds, weights)[0]
        return step(self)

    def _quiet(self) -> None:
        town = self.town
        town.scheduler.tell("quiet")
        town.network.calm()
        town.redis.mend()
        town.start_all()
        for device in town.devices:
            device.want(is_in=True)
        ends_at, was_settled = town.scheduler.now + _SETTLES_WITHIN_S, False
        while town.scheduler.now < ends_at:
            self._run_to(town.scheduler.now + _LOOK_EVERY_S)
            is_settled = checks.is_settled(town)
            if is_settled and was_settled:
                break
            was_settled = is_settled

    def _device(self) -> Callable[[], Device]:
        number = self.chance.randrange(100)
        return lambda: self.town.devices[number % len(self.town.devices)]

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
        """Edits or empties one of the user's own messages, or reacts to anybody's, if there is one on the device."""
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
        """In groups: somebody is let in, or taken out. Not in one that is to grow in the knot: for that it must be full."""
        if len(self.chats) < 2 or self.grows_in_knot:
            return self.send()
        return self.move(self.chance.choice(self.users[1:]), is_in=self.chance.random() < 0.5)

    def move(self, user: UserId, *, is_in: bool) -> Callable[[], None]:
        chat, caller = self.chats[1], ChangeContext(self.users[0], ClientKey(self.key()))

        def ask(gateway: Gateway) -> object:
            if is_in:
                return gateway.manage.add(chat, caller, [user])
            return gateway.manage.remove(chat, caller, user)

        what = f"{'in' if is_in else 'out'} {user}"
        return lambda: self.town.manage(what, ask)  # type: ignore[arg-type]

    def go_away(self) -> Callable[[], None]:
        device, away_s = self._device(), self.chance.random() * 8

        def step() -> None:
            gone = device()
            gone.want(is_in=False)
            self.town.scheduler.outside.call_later(away_s, lambda: gone.want(is_in=True))

        return step

    def cut(self) -> Callable[[], None]:
        device = self._device()
        return lambda: device().lose_wire()

    def new_device(self) -> Callable[[], None]:
        user = self.chance.choice(self.users)
        return lambda: void(self.town.device(user))


def void(_: object) -> None:
    """Forgets what it is given."""


_STEPS: list[tuple[Callable[[Scenario], Callable[[], None]], float]] = [
    (Scenario.send, 12),
    (Scenario.change, 2),
    (Scenario.read, 2),
    (Scenario.come_or_go, 3),
    (Scenario.go_away, 4),
    (Scenario.cut, 2),
    (Scenario.new_device, 0.7),
]
