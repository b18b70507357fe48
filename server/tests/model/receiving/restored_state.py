"""The state of `restored_rows.py`: a user's row, the head of their group, and the processes that compare them.

A log is given by kinds: `m` another user's message, `o` the user's own, `j` the user joins, `l` the user leaves.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple


@dataclass(frozen=True)
class Scenario:
    """`before`: entries of the old log. `after`: entries of the new epoch. `begins`: readers that begin."""

    before: int
    after: int
    begins: int
    acks: int = 0
    deaths: int = 0
    unpublished: int = 0


class Row(NamedTuple):
    """Sequences; 0 means none. `position`: the highest entry that names the user. `epoch` is -1 without a row."""

    position: int = 0
    own: int = 0
    joined: int = 0
    removed: int = 0
    epoch: int = 0

    @property
    def is_member(self) -> bool:
        return self.joined > self.removed


NEW: Final = 1
"""The new epoch; the old one is 0."""
NO_ROW: Final = Row(epoch=-1)


class Head(NamedTuple):
    """`left`: the last leave. `preview`: the last message. A head of the old epoch at 0 is missing."""

    sequence: int = 0
    left: int = 0
    preview: int = 0
    epoch: int = 0


class Task(NamedTuple):
    """A reader or the worker. `seen`, `found`: the row as read and as compared. `head`: the head as read.

    `shown`: the row that a reader uses. `floor`: the user's own messages up to here were below the head when it was read.
    """

    role: str
    step: str
    first: int = 0
    last: int = 0
    seen: Row = Row()
    found: Row = Row()
    head: Head = Head()
    shown: Row = Row()
    floor: int = 0


class State(NamedTuple):
    """`end`: the end of the old log. `seen`: what the user had read before the restore, by a message that is lost."""

    log: str
    end: int
    row: Row
    head: Head
    seen: int
    worker: Task | None
    readers: tuple[Task, ...]
    begins: int
    acks: int
    deaths: int
    unpublished: int
    fault: str = ""


def last(log: str, kind: str) -> int:
    return log.rfind(kind) + 1


def messages(log: str, after: int, up_to: int) -> int:
    return sum(kind in "mo" for kind in log[after:up_to])


def may_see(log: str, sequence: int) -> bool:
    return last(log[:sequence], "j") > last(log[:sequence], "l")


def row_of(log: str, first: int = 1) -> Row:
    """Return the parts that the entries from `first` on write into the user's row."""
    own, joined, removed = (n if (n := last(log, kind)) >= first else 0 for kind in "ojl")
    return Row(max(own, joined, removed), own, joined, removed)


def merged(row: Row, update: Row) -> Row:
    """Return the newer value of each part, in the new epoch."""
    return Row(*map(max, row[:4], update[:4]))._replace(epoch=NEW)


def head_of(log: str) -> Head:
    return Head(len(log), last(log, "l"), max(last(log, "m"), last(log, "o")))
