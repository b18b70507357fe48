"""The events of a history: records of 40 bytes, so that a file can be read as columns without parsing.

An operation has two events, its start and its outcome. A start without an outcome is unknown: it may have happened.
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

NUMBER_BITS: Final = 40
"""The bits of a message number below the number of its writer."""

ERASED_ENTRY: Final = (1 << 62) - 2
"""Instead of the number of a message or the fingerprint of an entry: it was read after its user was erased."""

type Events = NDArray[np.void]
type Numbers = NDArray[np.int64]
type Flags = NDArray[np.bool_]

MAGIC: Final = b"tidings-history1"
RECORD: Final = np.dtype(
    [
        ("at_ns", "<u8"),
        ("message", "<u8"),
        ("device", "<u4"),
        ("chat", "<u4"),
        ("connection", "<u4"),
        ("sequence", "<u4"),
        ("value", "<u4"),
        ("kind", "u1"),
        ("outcome", "u1"),
        ("sort", "u1"),
        ("is_asked", "u1"),
    ]
)
FORMAT: Final = "<QQIIIIIBBBB"
"""The format of `RECORD` for `struct`."""


class EventKind(IntEnum):
    """The kind of an event, which defines `device`, `chat` and `value`. 0 is no event: an unwritten end of a file."""

    DEVICE = 1
    """`device` belongs to the user `value`."""
    SEND = 2
    """The start of a send."""
    SENT = 3
    """The outcome of a send: `ok` at `sequence`, `failed` permanently, or `unknown`."""
    READ = 4
    """The start of marking as read up to `sequence`; `message` is the number of the operation."""
    READ_DONE = 5
    GIVEN = 6
    """The device received the entry at `sequence`: the number of a message, or a fingerprint of another entry."""
    IN = 7
    """An entry added the user `value`."""
    OUT = 8
    ROW = 9
    """A chat row requested at `at_ns`: user `value` has read up to `sequence`, and `message` messages are unread."""
    QUIET = 10
    """The end of the run for a device: entries that it has not received by now are lost."""
    STEP = 11
    """An action of the run itself, such as a fault; `value` is its name."""
    MUTED = 12
    """An entry muted the user `value` in the chat."""
    UNMUTED = 13
    BANNED = 14
    """An entry banned the user `value` from the chat. If they were a member, there is an `OUT` too."""
    UNBANNED = 15
    ERASED = 16
    """The server has erased the user `value`."""
    REREAD = 17
    """The entry at `sequence` when the log was read again at the end, by the user `value`."""
    ADMITTED = 18
    """The erased user `value` tried to connect or to request something: `ok` or `failed`, if they were refused."""


class Outcome(IntEnum):
    UNKNOWN = 0
    OK = 1
    FAILED = 2


class EntryCategory(IntEnum):
    """The kind of an entry. Only messages count as unread. A lost entry may have been one."""

    OTHER = 0
    MESSAGE = 1
    LOST = 2
