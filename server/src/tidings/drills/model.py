"""What a drill reports."""

from typing import Literal

from msgspec import Struct

type DrillKind = Literal["restore", "failover"]


class LostEntries(Struct, frozen=True, kw_only=True):
    """Entries of the log that a copy lacks. `oldest_at`: when the first of them was committed; empty if there is none."""

    entries: int
    oldest_at: str = ""


class DrillStep(Struct, frozen=True, kw_only=True):
    """A step that succeeded."""

    name: str
    took_s: float


class DrillReport(Struct, frozen=True, kw_only=True):
    """The result of a drill that succeeded.

    rpo_entries: entries that production had when it counted as lost, and that the copy lacks.
    rpo_s: from the commit of the oldest of them until production counted as lost.
    rto_s: from then until the first send was acknowledged.
    delivered_s: until the recipient had the message in their chat list.
    has_read_old_message: a message of the copy was decrypted. False if the copy has none that its author may read.
    """

    drill: DrillKind
    backup_at: str
    rpo_entries: int
    rpo_s: float
    rto_s: float
    delivered_s: float
    has_read_old_message: bool
    steps: list[DrillStep]
