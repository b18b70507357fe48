"""Load the histories of a run as one set of columns. A name from several writers gets one number."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from tidings_harness.history.events import MAGIC, RECORD, EventKind, Events, Numbers

_NAMED = ("device", "chat", "value")


@dataclass(frozen=True, slots=True)
class History:
    """A loaded history. `events` of a writer are contiguous and in order. `torn` describes truncated records."""

    events: Events
    names: list[str]
    torn: tuple[str, ...] = ()

    def of(self, kind: EventKind) -> Events:
        found: Events = self.events[self.events["kind"] == kind]
        return found


@dataclass(slots=True)
class _Gathering:
    names: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    connections: int = 0

    def number(self, name: str) -> int:
        if name not in self.known:
            self.known[name] = len(self.names)
            self.names.append(name)
        return self.known[name]


def load_history(directory: Path) -> History:
    together = _Gathering()
    parts = [_part(path, together) for path in sorted(directory.glob("*.events"))]
    events = np.concatenate(parts) if parts else np.empty(0, RECORD)
    return History(events, together.names, tuple(together.torn))


def _part(path: Path, together: _Gathering) -> Events:
    data = path.read_bytes()
    if data[: len(MAGIC)] != MAGIC:
        together.torn.append(f"{path.name}: no header, so no event was written")
        return np.empty(0, RECORD)
    whole = len(data) - len(data) % RECORD.itemsize
    if whole < len(data):
        together.torn.append(f"{path.name}: {len(data) - whole} bytes of an incomplete last record")
    events = np.frombuffer(bytearray(data[RECORD.itemsize : whole]), RECORD)
    events = _written(path, events, together)
    _rename(events, _local_names(path, together), together)
    return events


def _written(path: Path, events: Events, together: _Gathering) -> Events:
    """Return the events before the first record of zeros: a power failure may leave a file with an unwritten end."""
    empty = np.flatnonzero(events["kind"] == 0)
    if not len(empty):
        return events
    together.torn.append(f"{path.name}: {len(events) - empty[0]} records that were never written")
    return events[: empty[0]]


def _local_names(path: Path, together: _Gathering) -> Numbers:
    return np.fromiter((together.number(name) for name in _lines(path.with_suffix(".names"))), np.int64)


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_bytes().splitlines():
        try:
            yield msgspec.json.decode(line, type=str)
        except msgspec.DecodeError:
            return  # Truncated. No event uses the name, because names are written before their first use.


def _rename(events: Events, numbers: Numbers, together: _Gathering) -> None:
    """Map the names and connections of a file to those of the run."""
    if not len(numbers):
        return
    for column in _NAMED:
        events[column] = numbers[events[column]]
    given = events["kind"] == EventKind.GIVEN
    events["connection"][given] += together.connections
    together.connections = max(together.connections, int(events["connection"].max(initial=0)))
