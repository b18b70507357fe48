"""Broadcasts with one rule taken away each. The machine must tell every one of them from the real ones."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tidings.broadcasts import audience
from tidings.broadcasts.model import Board, Shown
from tidings.notices import wide
from tidings.notices.model import Sheet, Tally, Wide

type Mutant = Callable[[pytest.MonkeyPatch], None]


def marks_all_but_one(patch: pytest.MonkeyPatch) -> None:
    """A mark of all misses the newest broadcast."""
    real = wide.marked_all

    def marked_all(sheet: Sheet, before_ms: int | None, category: int | None) -> Wide:
        after = real(sheet, before_ms, category)
        is_moved = after.read_before > sheet.wide.read_before
        return replace(after, read_before=after.read_before - 1) if is_moved else after

    patch.setattr(wide, "marked_all", marked_all)


def subtracts_the_dead(patch: pytest.MonkeyPatch) -> None:
    """Counted by subtraction: what was read is taken off, also when its broadcast is gone."""

    def tally(sheet: Sheet) -> Tally:
        board, state = sheet.shown.board, sheet.wide
        above = wide.visible(sheet) & wide.above_marks(board, state)
        total = max(above.bit_count() - len(state.read), 0)
        return Tally(total, {}, total, None)

    patch.setattr(wide, "_tally", tally)


def steps_are_born_read(patch: pytest.MonkeyPatch) -> None:
    """A step of a ramp is held against marks by the sequence of the first step."""
    real = wide.above_marks

    def above_marks(board: Board, state: Wide) -> int:
        above = real(board, state)
        for each in board.showings:
            if min(other.sequence for other in board.view.of(each.notice)) <= state.read_before:
                above &= ~board.bits[each.sequence]
        return above

    patch.setattr(wide, "above_marks", above_marks)


def never_expires(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Board, "live", lambda board, _, __: board.standing)


def forgets_redactions(patch: pytest.MonkeyPatch) -> None:
    real = Board.live

    def live(board: Board, now_ms: int, keep_from_ms: int = 0) -> int:
        kept, board.standing = board.standing, board.everything
        try:
            return real(board, now_ms, keep_from_ms)
        finally:
            board.standing = kept

    patch.setattr(Board, "live", live)


def knows_no_join(patch: pytest.MonkeyPatch) -> None:
    """Who comes later gets what was there before his time."""
    patch.setattr(audience, "Shown", lambda board, reached, _: Shown(board, reached, 0))


def reaches_everybody(patch: pytest.MonkeyPatch) -> None:
    """Segments are not asked."""
    patch.setattr(Board, "reached", lambda board, _, __: board.everything)


def marks_what_is_unread_again(patch: pytest.MonkeyPatch) -> None:
    """A mark up to an earlier time takes in what was made unread again after it."""
    real = wide.marked_all

    def marked_all(sheet: Sheet, before_ms: int | None, category: int | None) -> Wide:
        return replace(real(sheet, before_ms, category), unread={})

    patch.setattr(wide, "marked_all", marked_all)
