"""Record the events of inboxes as lines of JSON, each written to the kernel before the action starts.

The number of the action that sends a notification identifies it. The number is part of its message, so that a
notification whose answer was lost is identified too.
"""

import os
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, Self, final

import msgspec
from msgspec import Struct

FILE: Final = "notifications.jsonl"


class Action(StrEnum):
    DIRECT = "direct"
    BROADCAST = "broadcast"
    REDACT = "redact"
    READ = "read"
    READ_ALL = "read_all"


class ActionOutcome(StrEnum):
    """The outcome of an action. An action without an end has an unknown outcome too."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ActionStarted(Struct, frozen=True, kw_only=True, tag="begun"):
    """The start of an action.

    `users` are its recipients, or the user who performs it. `of` are the notifications that it concerns. `expires_ns` is
    the time of expiry, 0 for none. `ramp` are the percentages of a rollout.
    """

    number: int
    action: Action
    at_ns: int
    users: tuple[str, ...]
    of: tuple[int, ...] = ()
    expires_ns: int = 0
    ramp: tuple[int, ...] = ()


class ActionEnded(Struct, frozen=True, kw_only=True, tag="ended"):
    number: int
    outcome: ActionOutcome
    at_ns: int


class SeenNotification(NamedTuple):
    number: int
    is_read: bool


class InboxRead(Struct, frozen=True, kw_only=True, tag="look"):
    """A complete list of one user.

    `up_to` is the sequence of the broadcast log that it includes. `is_last` is set for reads at the end of the run, and
    `is_rest` for reads over REST, which may reach a process with an older copy of the log than the marking device's.
    """

    user: str
    begun_ns: int
    ended_ns: int
    seen: tuple[SeenNotification, ...]
    unread: int
    up_to: int
    at_least: int = 0
    is_last: bool = False
    is_rest: bool = False


class PushReceived(Struct, frozen=True, kw_only=True, tag="told"):
    """A broadcast pushed to a device. `connection` changes with each reconnect."""

    user: str
    connection: int
    number: int


class RunStep(Struct, frozen=True, kw_only=True, tag="step"):
    """An action of the run itself, such as a fault."""

    at_ns: int
    what: str


type Event = ActionStarted | ActionEnded | InboxRead | PushReceived | RunStep
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


@final
class Journal:
    def __init__(self, directory: Path) -> None:
        self._file = os.open(directory / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def note(self, event: Event) -> None:
        os.write(self._file, _encode(event) + b"\n")

    def begin(
        self,
        action: Action,
        users: Sequence[str],
        of: Sequence[int] = (),
        *,
        life_s: float = 0.0,
        ramp: Sequence[int] = (),
    ) -> int:
        self._last += 1
        now_ns = time.monotonic_ns()
        begun = ActionStarted(
            number=self._last,
            action=action,
            at_ns=now_ns,
            users=tuple(users),
            of=tuple(of),
            expires_ns=now_ns + round(life_s * 1e9) if life_s else 0,
            ramp=tuple(ramp),
        )
        self.note(begun)
        return self._last

    def end(self, number: int, outcome: ActionOutcome) -> None:
        self.note(ActionEnded(number=number, outcome=outcome, at_ns=time.monotonic_ns()))

    def step(self, what: str) -> None:
        self.note(RunStep(at_ns=time.monotonic_ns(), what=what))


def load_journal(directory: Path) -> list[Event]:
    """Read a history without a truncated last line."""
    events: list[Event] = []
    for line in (directory / FILE).read_bytes().splitlines():
        try:
            events.append(_decode(line))
        except msgspec.DecodeError:
            break
    return events
