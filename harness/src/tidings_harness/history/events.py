"""One event of a history: a record of 40 bytes, so that a file of them is columns without parsing.

An operation is two events, its begin and its outcome; a begin without an outcome is unknown: it may have happened.
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

NUMBER_BITS: Final = 40
"""Of a message's number, below its writer's."""

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
"""The same as `RECORD`, for `struct`."""


class EventKind(IntEnum):
    """What `device`, `chat`, `value` mean is told at each; 0 is no event: a file's end that was never written."""

    DEVICE = 1
    """`device` is of the user `value`."""
    SEND = 2
    """A message is about to be sent."""
    SENT = 3
    """Its outcome: `ok` at `sequence`, `failed` for good, or `unknown`."""
    READ = 4
    """The user is about to say that he has read up to `sequence`; `message` numbers the operation."""
    READ_DONE = 5
    GIVEN = 6
    """The device got the entry at `sequence`: a message's number, or a fingerprint of any other entry."""
    IN = 7
    """An entry let the user `value` in."""
    OUT = 8
    ROW = 9
    """A chat list asked for at `at_ns` says: user `value` has read up to `sequence`, and `message` are unread."""
    QUIET = 10
    """All was quiet: what the device has not got by now it has lost."""
    STEP = 11
    """What the run did, a fault for instance; `value` is the name of it."""


class Outcome(IntEnum):
    UNKNOWN = 0
    OK = 1
    FAILED = 2


class EntryCategory(IntEnum):
    """Of an entry: messages count as unread, others do not."""

    OTHER = 0
    MESSAGE = 1
