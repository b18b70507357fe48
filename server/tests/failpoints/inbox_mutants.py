"""Mutant servers that each break one promise of inboxes; the harness rules for notifications must catch them."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace

from tidings.inboxes.broadcasts import rules, user_state
from tidings.inboxes.broadcasts.log import BroadcastLogCache
from tidings.inboxes.broadcasts.model import BroadcastEntry, BroadcastIndex, BroadcastLogView
from tidings.inboxes.model import BroadcastCounts, BroadcastState, InboxSnapshot

_SLOW_S: Final = 60.0


def follows_slowly() -> None:
    """Read a copy of the log that is older than promised."""
    honest = BroadcastLogCache.__init__

    def init(self: BroadcastLogCache, *given: Any, **more: Any) -> None:
        honest(self, *given, **more | {"fresh_s": _SLOW_S})

    BroadcastLogCache.__init__ = init  # type: ignore[method-assign]


def forgets_redactions() -> None:
    """Count redacted broadcasts."""
    honest = rules.apply_entries

    def moved(view: BroadcastLogView, entries: Iterable[BroadcastEntry], now_ms: int) -> BroadcastLogView:
        after = honest(view, entries, now_ms)
        return replace(after, redacted={})

    rules.apply_entries = moved


def ignores_segments() -> None:
    """Treat every user as a member of every segment."""
    honest = BroadcastIndex.reached

    def reached(self: BroadcastIndex, user_hash: int, segments: Iterable[str]) -> int:
        del segments
        return honest(self, user_hash, self.segments)

    BroadcastIndex.reached = reached  # type: ignore[method-assign]


def keeps_what_expired() -> None:
    honest = BroadcastIndex.live

    def live(self: BroadcastIndex, now_ms: int, keep_from_ms: int = 0) -> int:
        del now_ms
        return honest(self, 0, keep_from_ms)

    BroadcastIndex.live = live  # type: ignore[method-assign]


def stops_ramps_at_their_first_step() -> None:
    honest = BroadcastIndex.reached

    def reached(self: BroadcastIndex, user_hash: int, segments: Iterable[str]) -> int:
        later = sum(bit for bit, _, span in self.spans if span.low)
        return honest(self, user_hash, segments) & ~later

    BroadcastIndex.reached = reached  # type: ignore[method-assign]


def marks_all_but_the_last() -> None:
    honest = user_state.mark_all_read

    def marked_all(snapshot: InboxSnapshot, before_ms: int | None, category: int | None) -> BroadcastState:
        after = honest(snapshot, before_ms, category)
        is_raised = after.read_before > snapshot.broadcast_state.read_before
        return replace(after, read_before=after.read_before - 3) if is_raised else after

    user_state.mark_all_read = marked_all


def counts_one_broadcast_more() -> None:
    honest = user_state.with_counts

    def counted(snapshot: InboxSnapshot) -> InboxSnapshot:
        found = honest(snapshot)
        tally: BroadcastCounts = found.tally
        return replace(found, tally=tally._replace(total=tally.total + 1)) if tally.total else found

    user_state.with_counts = counted


NOTIFICATION_MUTANTS: Final[dict[str, Callable[[], None]]] = {
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
