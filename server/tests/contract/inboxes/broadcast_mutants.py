"""Mutants of broadcasts, each without one rule. The state machine must detect every one of them."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tidings.inboxes.broadcasts import segments, user_state
from tidings.inboxes.broadcasts.model import BroadcastIndex, UserBroadcasts
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import BroadcastCounts, BroadcastState, InboxSnapshot
from tidings.inboxes.preferences import UserPreferences

type Mutant = Callable[[pytest.MonkeyPatch], None]


def marks_all_but_one(patch: pytest.MonkeyPatch) -> None:
    """Miss the newest broadcast in a mark of all."""
    real = user_state.mark_all_read

    def marked_all(sheet: InboxSnapshot, before_ms: int | None, category: int | None) -> BroadcastState:
        after = real(sheet, before_ms, category)
        is_moved = after.read_before > sheet.broadcast_state.read_before
        return replace(after, read_before=after.read_before - 1) if is_moved else after

    patch.setattr(user_state, "mark_all_read", marked_all)


def subtracts_the_dead(patch: pytest.MonkeyPatch) -> None:
    """Count by subtraction: read broadcasts are subtracted, also expired ones."""

    def tally(sheet: InboxSnapshot) -> BroadcastCounts:
        board, state = sheet.shown.log_index, sheet.broadcast_state
        above = user_state.visible_mask(sheet) & user_state.above_marks_mask(board, state)
        total = max(above.bit_count() - len(state.read), 0)
        return BroadcastCounts(total, {}, total, None)

    patch.setattr(user_state, "_tally", tally)


def steps_are_born_read(patch: pytest.MonkeyPatch) -> None:
    """Compare a rollout step with marks by the sequence of the first step."""
    real = user_state.above_marks_mask

    def above_marks(board: BroadcastIndex, state: BroadcastState) -> int:
        above = real(board, state)
        for each in board.releases:
            if min(other.sequence for other in board.view.of(each.notification)) <= state.read_before:
                above &= ~board.bits[each.sequence]
        return above

    patch.setattr(user_state, "above_marks_mask", above_marks)


def never_expires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BroadcastIndex, "live", lambda board, _, __: board.not_redacted_mask)


def forgets_redactions(patch: pytest.MonkeyPatch) -> None:
    real = BroadcastIndex.live

    def live(board: BroadcastIndex, now_ms: int, keep_from_ms: int = 0) -> int:
        kept, board.not_redacted_mask = board.not_redacted_mask, board.everything
        try:
            return real(board, now_ms, keep_from_ms)
        finally:
            board.not_redacted_mask = kept

    patch.setattr(BroadcastIndex, "live", live)


def knows_no_join(patch: pytest.MonkeyPatch) -> None:
    """Show a new user the broadcasts from before they were created."""
    patch.setattr(segments, "UserBroadcasts", lambda board, reached, _: UserBroadcasts(board, reached, 0))


def reaches_everybody(patch: pytest.MonkeyPatch) -> None:
    """Ignore segments."""
    patch.setattr(BroadcastIndex, "reached", lambda board, _, __: board.everything)


def ignores_preferences(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(user_state, "hidden_mask", lambda _, __, ___: 0)


def hides_critical_ones(patch: pytest.MonkeyPatch) -> None:
    """Let users switch off critical broadcasts."""
    real = user_state.hidden_mask

    def hidden(index: BroadcastIndex, inbox: Inbox, preferences: UserPreferences) -> int:
        kept, index.critical = index.critical, 0
        try:
            return real(index, inbox, preferences)
        finally:
            index.critical = kept

    patch.setattr(user_state, "hidden_mask", hidden)


def marks_what_is_unread_again(patch: pytest.MonkeyPatch) -> None:
    """Cover broadcasts by an earlier mark of all that were made unread again after it."""
    real = user_state.mark_all_read

    def marked_all(sheet: InboxSnapshot, before_ms: int | None, category: int | None) -> BroadcastState:
        return replace(real(sheet, before_ms, category), unread={})

    patch.setattr(user_state, "mark_all_read", marked_all)
