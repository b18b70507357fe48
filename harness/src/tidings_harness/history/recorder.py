"""Append events to a file, and hand them to the kernel before the operation that they record.

A process that is killed with -9 loses no written event; at most the last record is truncated.
"""

import os
import struct
import time
from pathlib import Path
from typing import Final, Self, final

import msgspec

from tidings_harness.history.events import (
    FORMAT,
    MAGIC,
    NUMBER_BITS,
    RECORD,
    EntryCategory,
    EventKind,
    Outcome,
)

_pack: Final = struct.Struct(FORMAT).pack
_APPEND: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND


@final
class Recorder:
    """The recorder of a process. `writer` is its number, which is unique in the run, also after a restart.

    `begin` and `end` write to the kernel immediately. Observations are buffered until `flush`, which a socket reader calls
    after it has processed a frame. This takes one system call per frame instead of one per entry.
    """

    def __init__(self, directory: Path, writer: int, *, after: "Recorder | None" = None) -> None:
        """Continue the message numbers of `after`, an earlier recorder of this writer."""
        self.writer = writer
        self._events = os.open(directory / f"{writer:04}.events", _APPEND, 0o644)
        self._names = os.open(directory / f"{writer:04}.names", _APPEND, 0o644)
        self._known: dict[str, int] = {}
        self._gathered: list[bytes] = []
        self.last_number: int = after.last_number if after else 0
        self.last_connection: int = after.last_connection if after else 0
        self._said: set[tuple[int, int, int, int]] = set()
        head = MAGIC + struct.pack("<IQ", writer, time.time_ns())
        os.write(self._events, head.ljust(RECORD.itemsize, b"\0"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        os.close(self._events)
        os.close(self._names)

    def name(self, text: str) -> int:
        """Return the number of a name in this file. The name is written before any event that uses it."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = len(self._known)
            os.write(self._names, msgspec.json.encode(text) + b"\n")
        return found

    def new_message(self) -> int:
        self.last_number += 1
        return self.writer << NUMBER_BITS | self.last_number

    def new_connection(self) -> int:
        self.last_connection += 1
        return self.last_connection

    def device(self, device: int, user: int) -> None:
        self._note(EventKind.DEVICE, device=device, value=user)

    def begin(self, kind: EventKind, *, device: int, chat: int, message: int, sequence: int = 0) -> None:
        self._note(kind, device=device, chat=chat, message=message, sequence=sequence)
        self.flush()

    def end(
        self, kind: EventKind, outcome: Outcome, *, device: int, chat: int, message: int, sequence: int = 0
    ) -> None:
        self._note(kind, device=device, chat=chat, message=message, sequence=sequence, outcome=outcome)
        self.flush()

    def carry(
        self,
        kind: EventKind,
        *,
        at_ns: int,
        device: str,
        chat: str,
        message: int,
        sequence: int = 0,
        outcome: Outcome = Outcome.UNKNOWN,
    ) -> None:
        """Copy an event of an earlier history with its time."""
        self._note(
            kind,
            device=self.name(device),
            chat=self.name(chat),
            message=message,
            sequence=sequence,
            outcome=outcome,
            at_ns=at_ns,
        )

    def delivered(
        self,
        device: int,
        chat: int,
        connection: int,
        sequence: int,
        message: int,
        *,
        sort: EntryCategory,
        is_asked: bool,
    ) -> None:
        """Record a received entry. `is_asked`: the device requested missed entries, so it may already have this one."""
        self._gathered.append(
            _pack(
                time.monotonic_ns(),
                message,
                device,
                chat,
                connection,
                sequence,
                0,
                EventKind.GIVEN,
                0,
                sort,
                is_asked,
            )
        )

    def member(self, kind: EventKind, chat: int, sequence: int, user: int) -> None:
        """Record a membership change once, although many devices receive its entry."""
        fact = (kind, chat, sequence, user)
        if fact not in self._said:
            self._said.add(fact)
            self._note(kind, chat=chat, sequence=sequence, value=user)

    def row(self, user: int, chat: int, asked_ns: int, *, read: int, unread: int) -> None:
        self._note(EventKind.ROW, value=user, chat=chat, sequence=read, message=unread, at_ns=asked_ns)

    def erased(self, user: int) -> None:
        self._note(EventKind.ERASED, value=user)

    def reread(self, chat: int, sequence: int, message: int, by: int) -> None:
        self._note(EventKind.REREAD, chat=chat, sequence=sequence, message=message, value=by)

    def admitted(self, user: int, outcome: Outcome) -> None:
        self._note(EventKind.ADMITTED, value=user, outcome=outcome)

    def quiet(self, device: int) -> None:
        self._note(EventKind.QUIET, device=device)

    def step(self, what: str) -> None:
        self._note(EventKind.STEP, value=self.name(what))
        self.flush()

    def flush(self) -> None:
        if self._gathered:
            os.write(self._events, b"".join(self._gathered))
            self._gathered.clear()

    def _note(
        self,
        kind: EventKind,
        *,
        device: int = 0,
        chat: int = 0,
        message: int = 0,
        sequence: int = 0,
        value: int = 0,
        outcome: Outcome = Outcome.UNKNOWN,
        at_ns: int | None = None,
    ) -> None:
        now = time.monotonic_ns() if at_ns is None else at_ns
        self._gathered.append(_pack(now, message, device, chat, 0, sequence, value, kind, outcome, 0, 0))
