"""Report to the audit log what an administrative action changed.

The edge that runs the action sets the notes, and the use case fills them in. Without an action, nothing is noted.
"""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class ActionNotes:
    """State before and after the action. `None`: it did not exist, or the action has no such state."""

    before: object = None
    after: object = None


CURRENT_NOTES: Final[ContextVar[ActionNotes | None]] = ContextVar("action_notes", default=None)


def note_change(before: object, after: object) -> None:
    """Note a change. A later call replaces an earlier one: a retry after a conflict has read the state again."""
    if (notes := CURRENT_NOTES.get()) is not None:
        notes.before, notes.after = before, after
