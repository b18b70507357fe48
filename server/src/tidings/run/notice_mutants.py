"""Servers that break one promise of inboxes each: as in `mutants`, to be caught by the harness' rules for notices."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from tidings.broadcasts import rules
from tidings.broadcasts.follow import Followers
from tidings.broadcasts.model import Board, Entry, View
from tidings.notices import wide
from tidings.notices.model import Sheet, Tally, Wide

_SLOW_S: Final = 60.0


def follows_slowly() -> None:
    """A reader's copy of the log is older than is promised."""
    honest = Followers.__init__

    def init(self: Followers, *given: Any, **more: Any) -> None:  # noqa: ANN401 - as it is called
        honest(self, *given, **more | {"fresh_s": _SLOW_S})

    Followers.__init__ = init  # type: ignore[method-assign]


def forgets_redactions() -> None:
    """What was redacted is still counted."""
    honest = rules.moved

    def moved(view: View, entries: Iterable[Entry], now_ms: int) -> View:
        after = honest(view, entries, now_ms)
        return replace(after, redacted={})

    rules.moved = moved


def ignores_segments() -> None:
    """Everybody is in every segment."""
    honest = Board.reached

    def reached(self: Board, user_hash: int, segments: Iterable[str]) -> int:
        del segments
        return honest(self, user_hash, self.segments)

    Board.reached = reached  # type: ignore[method-assign]


def keeps_what_expired() -> None:
    honest = Board.live

    def live(self: Board, now_ms: int, keep_from_ms: int = 0) -> int:
        del now_ms
        return honest(self, 0, keep_from_ms)

    Board.live = live  # type: ignore[method-assign]


def stops_ramps_at_their_first_step() -> None:
    honest = Board.reached

    def reached(self: Board, user_hash: int, segments: Iterable[str]) -> int:
        later = sum(bit for bit, _, span in self.spans if span.low)
        return honest(self, user_hash, segments) & ~later

    Board.reached = reached  # type: ignore[method-assign]


def marks_all_but_the_last() -> None:
    honest = wide.marked_all

    def marked_all(sheet: Sheet, before_ms: int | None, category: int | None) -> Wide:
        after = honest(sheet, before_ms, category)
        is_raised = after.read_before > sheet.wide.read_before
        return replace(after, read_before=after.read_before - 3) if is_raised else after

    wide.marked_all = marked_all


def counts_one_broadcast_more() -> None:
    honest = wide.counted

    def counted(sheet: Sheet) -> Sheet:
        found = honest(sheet)
        tally: Tally = found.tally
        return replace(found, tally=tally._replace(total=tally.total + 1)) if tally.total else found

    wide.counted = counted


NOTICE_MUTANTS: Final[dict[str, Callable[[], None]]] = {
    mutant.__name__: mutant
    for mutant in (
        follows_slowly,
        forgets_redactions,
        ignores_segments,
        keeps_what_expired,
        stops_ramps_at_their_first_step,
        marks_all_but_the_last,
        counts_one_broadcast_more,
    )
}
