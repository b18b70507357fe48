"""What is unread of broadcasts, and what every deed does to a user's state of them. Pure.

Counts are sets and never subtraction: a broadcast that died leaves them by itself, whatever the state still says of it.
Sets of broadcasts are the bits of a number (`BroadcastIndex`); what is written has their sequences.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from tidings.inboxes.broadcasts.model import BroadcastIndex, BroadcastRelease
from tidings.inboxes.model import (
    BroadcastCounts,
    BroadcastState,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
)
from tidings.kernel.ids import encode_ulid


def visible_mask(snapshot: InboxSnapshot) -> int:
    """Live, for this user, and since he came; in the archive or not."""
    board = snapshot.shown.log_index
    live = board.live(snapshot.now_ms, snapshot.retain_from_ms)
    return snapshot.shown.visible_mask & live & board.above(snapshot.broadcast_state.joined)


def above_marks_mask(index: BroadcastIndex, wide: BroadcastState) -> int:
    """Above both watermarks: that of all, and that of its category."""
    above = index.above(wide.read_before)
    for code, sequence in wide.category_read_before.items():
        above &= ~index.categories.get(code, 0) | index.above(sequence)
    return above


def open_mask(index: BroadcastIndex, wide: BroadcastState) -> int:
    """Not read, whether to be seen or not."""
    return (above_marks_mask(index, wide) & ~index.of(wide.read)) | index.of(wide.unread)


def archived_mask(snapshot: InboxSnapshot) -> int:
    return snapshot.shown.log_index.of(snapshot.broadcast_state.archived)


def unread_mask(snapshot: InboxSnapshot) -> int:
    """What the counts count."""
    return (
        visible_mask(snapshot)
        & ~archived_mask(snapshot)
        & open_mask(snapshot.shown.log_index, snapshot.broadcast_state)
    )


def with_counts(snapshot: InboxSnapshot) -> InboxSnapshot:
    """With the tally of what it shows."""
    return replace(snapshot, tally=_tally(snapshot) if snapshot.shown.visible_mask else BroadcastCounts())


def _tally(snapshot: InboxSnapshot) -> BroadcastCounts:
    mask, board = unread_mask(snapshot), snapshot.shown.log_index
    by_category = {
        code: count
        for code, bits in board.categories.items()
        if code and (count := (mask & bits).bit_count())
    }
    unseen = (mask & board.above(snapshot.broadcast_state.seen_before)).bit_count()
    return BroadcastCounts(mask.bit_count(), by_category, unseen, board.next_end_ms(mask, snapshot.now_ms))


def release_for_user(snapshot: InboxSnapshot, notification: NotificationId) -> int:
    """The one that the user has of it: steps of a ramp have different users."""
    return snapshot.shown.log_index.of_notification(notification) & visible_mask(snapshot)


def mark_read(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    board, wide = snapshot.shown.log_index, snapshot.broadcast_state
    now_read = _sequences(board, bits & open_mask(board, wide))
    return replace(wide, read=wide.read | now_read, unread=_without(wide.unread, now_read))


def mark_unread(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    board, wide = snapshot.shown.log_index, snapshot.broadcast_state
    again = _sequences(board, bits & ~open_mask(board, wide))
    times = dict.fromkeys(again, snapshot.now_ms)
    return replace(wide, read=wide.read - again, unread={**wide.unread, **times})


def archive(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    return replace(
        snapshot.broadcast_state,
        archived=snapshot.broadcast_state.archived | _sequences(snapshot.shown.log_index, bits),
    )


def restore(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    return replace(
        snapshot.broadcast_state,
        archived=snapshot.broadcast_state.archived - _sequences(snapshot.shown.log_index, bits),
    )


def mark_all_read(snapshot: InboxSnapshot, before_ms: int | None, category: int | None) -> BroadcastState:
    """Up to the end of the log as it was shown, or to what was given up to a time."""
    board, wide = snapshot.shown.log_index, snapshot.broadcast_state
    is_now = before_ms is None or before_ms >= snapshot.now_ms
    up_to = board.head if is_now else board.until_ms(before_ms or 0)
    meant = board.everything if category is None else board.categories.get(category, 0)
    if not (meant & above_marks_mask(board, wide) & ~board.above(up_to)) and not wide.unread:
        return wide
    again = {
        sequence: at_ms
        for sequence, at_ms in wide.unread.items()
        if not (board.of([sequence]) & meant) or (not is_now and at_ms > (before_ms or 0))
    }
    return _with_mark(replace(wide, unread=again), up_to, category)


def mark_all_seen(snapshot: InboxSnapshot) -> BroadcastState:
    board, wide = snapshot.shown.log_index, snapshot.broadcast_state
    is_news = board.not_redacted_mask & board.above(wide.seen_before)
    return replace(wide, seen_before=board.head) if is_news else wide


def newly_read_releases(snapshot: InboxSnapshot, after: BroadcastState) -> list[NotificationId]:
    """Of those whose readers are noted."""
    board = snapshot.shown.log_index
    if not board.tracked:
        return []
    gone = open_mask(board, snapshot.broadcast_state) & ~open_mask(board, after)
    return [
        NotificationId(each.notification)
        for each in board.shown(gone & board.tracked & visible_mask(snapshot))
    ]


def next_state(snapshot: InboxSnapshot, wide: BroadcastState) -> BroadcastState | None:
    """To be written after the one that stands; None: nothing changed. Without what is dead or says nothing more.

    What is above the head of this copy may be known to another process, and stays.
    """
    if wide == snapshot.broadcast_state:
        return None
    board = snapshot.shown.log_index
    marks = {code: at for code, at in wide.category_read_before.items() if at > wide.read_before}
    kept = replace(wide, category_read_before=marks)
    above = above_marks_mask(board, kept)
    return replace(
        kept,
        read=frozenset(each for each in wide.read if _matters(board, each, above)),
        unread={
            each: at for each, at in wide.unread.items() if _matters(board, each, board.not_redacted_mask)
        },
        archived=frozenset(each for each in wide.archived if _matters(board, each, board.not_redacted_mask)),
        updated_ms=snapshot.now_ms,
        version=snapshot.broadcast_state.version + 1,
    )


def _matters(index: BroadcastIndex, sequence: int, among: int) -> bool:
    return sequence > index.head or bool(index.bits.get(sequence, 0) & among & index.not_redacted_mask)


def _with_mark(wide: BroadcastState, up_to: int, category: int | None) -> BroadcastState:
    if category is None:
        return replace(wide, read_before=max(up_to, wide.read_before))
    marks = dict(wide.category_read_before)
    marks[category] = max(up_to, marks.get(category, 0))
    return replace(wide, category_read_before=marks)


def _sequences(index: BroadcastIndex, bits: int) -> frozenset[int]:
    return frozenset(each.sequence for each in index.shown(bits))


def _without(times: Mapping[int, int], gone: frozenset[int]) -> dict[int, int]:
    return {each: at_ms for each, at_ms in times.items() if each not in gone}


def release_sort_key(release: BroadcastRelease) -> NotificationId:
    """Where it stands among a user's notifications: at the time when he got it, not when it was made ready."""
    return NotificationId(encode_ulid(release.at_ms, release.sequence))


def row_from_release(release: BroadcastRelease, snapshot: InboxSnapshot) -> NotificationRow:
    """As if it were his alone. When he read or archived it is not kept: `updated_ms` is the latest it can have been."""
    board, wide = snapshot.shown.log_index, snapshot.broadcast_state
    bit = board.bits[release.sequence]
    redacted_ms = board.view.redacted.get(release.notification)
    return NotificationRow(
        id=NotificationId(release.notification),
        category=release.category,
        delivered_ms=release.at_ms,
        read_ms=None if bit & open_mask(board, wide) else wide.updated_ms,
        reopened_ms=wide.unread.get(release.sequence),
        archived_ms=wide.updated_ms if release.sequence in wide.archived else None,
        redacted_ms=redacted_ms,
        expires_ms=release.expires_ms,
    )
