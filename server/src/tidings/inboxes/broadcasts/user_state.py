"""Decide which broadcasts are unread, and how each operation changes a user's broadcast state. Pure.

Counts are computed from sets, never by subtraction: a broadcast that expired or was redacted leaves them automatically,
even if the state still names it. A set is the bits of an integer (`BroadcastIndex`); the stored state has sequences.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from tidings.inboxes.broadcasts.model import BroadcastIndex, BroadcastRelease
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import (
    BroadcastCounts,
    BroadcastState,
    InboxSnapshot,
    NotificationId,
    NotificationRow,
)
from tidings.inboxes.preferences import NO_PREFERENCES, Channel, UserPreferences
from tidings.kernel.ids import encode_ulid


def visible_mask(snapshot: InboxSnapshot) -> int:
    """Return the live releases for this user since they joined, archived or not."""
    index = snapshot.shown.log_index
    live = index.live(snapshot.now_ms, snapshot.retain_from_ms)
    return snapshot.shown.visible_mask & live & index.above(snapshot.broadcast_state.joined)


def hidden_mask(index: BroadcastIndex, inbox: Inbox, preferences: UserPreferences) -> int:
    """Return the releases whose channel `inbox` is off for the user, by the tenant's settings or their own."""
    if preferences is NO_PREFERENCES and not inbox.channels and not inbox.category_settings:
        return 0
    hidden = 0
    for code, bits in index.categories.items():
        for is_critical in (False, True):
            among = bits & (index.critical if is_critical else ~index.critical)
            channels = inbox.channels_for(code, preferences, is_critical=is_critical)
            hidden |= 0 if channels[Channel.INBOX] else among
    return hidden


def above_marks_mask(index: BroadcastIndex, state: BroadcastState) -> int:
    """Return the releases above the read watermark of all and that of their category."""
    above = index.above(state.read_before)
    for code, sequence in state.category_read_before.items():
        above &= ~index.categories.get(code, 0) | index.above(sequence)
    return above


def open_mask(index: BroadcastIndex, state: BroadcastState) -> int:
    """Return the releases that are not read, visible or not."""
    return (above_marks_mask(index, state) & ~index.of(state.read)) | index.of(state.unread)


def archived_mask(snapshot: InboxSnapshot) -> int:
    return snapshot.shown.log_index.of(snapshot.broadcast_state.archived)


def unread_mask(snapshot: InboxSnapshot) -> int:
    """Return the releases that the counts include."""
    return (
        visible_mask(snapshot)
        & ~archived_mask(snapshot)
        & open_mask(snapshot.shown.log_index, snapshot.broadcast_state)
    )


def with_counts(snapshot: InboxSnapshot) -> InboxSnapshot:
    """Return the snapshot with its broadcasts counted."""
    return replace(snapshot, tally=_tally(snapshot) if snapshot.shown.visible_mask else BroadcastCounts())


def _tally(snapshot: InboxSnapshot) -> BroadcastCounts:
    mask, index = unread_mask(snapshot), snapshot.shown.log_index
    by_category = {
        code: count
        for code, bits in index.categories.items()
        if code and (count := (mask & bits).bit_count())
    }
    unseen = (mask & index.above(snapshot.broadcast_state.seen_before)).bit_count()
    return BroadcastCounts(mask.bit_count(), by_category, unseen, index.next_end_ms(mask, snapshot.now_ms))


def release_for_user(snapshot: InboxSnapshot, notification: NotificationId) -> int:
    """Return the release that the user has of a broadcast: rollout steps have different users."""
    return snapshot.shown.log_index.of_notification(notification) & visible_mask(snapshot)


def mark_read(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    index, state = snapshot.shown.log_index, snapshot.broadcast_state
    now_read = _sequences(index, bits & open_mask(index, state))
    return replace(state, read=state.read | now_read, unread=_without(state.unread, now_read))


def mark_unread(snapshot: InboxSnapshot, bits: int) -> BroadcastState:
    index, state = snapshot.shown.log_index, snapshot.broadcast_state
    again = _sequences(index, bits & ~open_mask(index, state))
    times = dict.fromkeys(again, snapshot.now_ms)
    return replace(state, read=state.read - again, unread={**state.unread, **times})


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
    """Mark all as read, up to the head of the log or to a time."""
    index, state = snapshot.shown.log_index, snapshot.broadcast_state
    is_now = before_ms is None or before_ms >= snapshot.now_ms
    up_to = index.head if is_now else index.until_ms(before_ms or 0)
    meant = index.everything if category is None else index.categories.get(category, 0)
    if not (meant & above_marks_mask(index, state) & ~index.above(up_to)) and not state.unread:
        return state
    still_unread = {
        sequence: at_ms
        for sequence, at_ms in state.unread.items()
        if not (index.of([sequence]) & meant) or (not is_now and at_ms > (before_ms or 0))
    }
    return _with_mark(replace(state, unread=still_unread), up_to, category)


def mark_all_seen(snapshot: InboxSnapshot) -> BroadcastState:
    index, state = snapshot.shown.log_index, snapshot.broadcast_state
    has_unseen = index.not_redacted_mask & index.above(state.seen_before)
    return replace(state, seen_before=index.head) if has_unseen else state


def newly_read_releases(snapshot: InboxSnapshot, after: BroadcastState) -> list[NotificationId]:
    """Return the tracked broadcasts that become read by this change."""
    index = snapshot.shown.log_index
    if not index.tracked:
        return []
    read = open_mask(index, snapshot.broadcast_state) & ~open_mask(index, after)
    return [
        NotificationId(each.notification)
        for each in index.shown(read & index.tracked & visible_mask(snapshot))
    ]


def next_state(snapshot: InboxSnapshot, state: BroadcastState) -> BroadcastState | None:
    """Return the state to write, or None if nothing changed. Entries without effect are removed.

    Sequences above the head of this copy remain: another process with a newer copy may have written them.
    """
    if state == snapshot.broadcast_state:
        return None
    index = snapshot.shown.log_index
    marks = {code: at for code, at in state.category_read_before.items() if at > state.read_before}
    pruned = replace(state, category_read_before=marks)
    above = above_marks_mask(index, pruned)
    return replace(
        pruned,
        read=frozenset(each for each in state.read if _matters(index, each, above)),
        unread={
            each: at for each, at in state.unread.items() if _matters(index, each, index.not_redacted_mask)
        },
        archived=frozenset(each for each in state.archived if _matters(index, each, index.not_redacted_mask)),
        updated_ms=snapshot.now_ms,
        version=snapshot.broadcast_state.version + 1,
    )


def _matters(index: BroadcastIndex, sequence: int, among: int) -> bool:
    return sequence > index.head or bool(index.bits.get(sequence, 0) & among & index.not_redacted_mask)


def _with_mark(state: BroadcastState, up_to: int, category: int | None) -> BroadcastState:
    if category is None:
        return replace(state, read_before=max(up_to, state.read_before))
    marks = dict(state.category_read_before)
    marks[category] = max(up_to, marks.get(category, 0))
    return replace(state, category_read_before=marks)


def _sequences(index: BroadcastIndex, bits: int) -> frozenset[int]:
    return frozenset(each.sequence for each in index.shown(bits))


def _without(times: Mapping[int, int], sequences: frozenset[int]) -> dict[int, int]:
    return {each: at_ms for each, at_ms in times.items() if each not in sequences}


def release_sort_key(release: BroadcastRelease) -> NotificationId:
    """Return the position of a release among a user's notifications: by the time of its release, not of its sending."""
    return NotificationId(encode_ulid(release.at_ms, release.sequence))


def row_from_release(release: BroadcastRelease, snapshot: InboxSnapshot) -> NotificationRow:
    """Return the release as a row of this user.

    The state does not store when it was read or archived; `updated_ms` is the latest possible time.
    """
    index, state = snapshot.shown.log_index, snapshot.broadcast_state
    bit = index.bits[release.sequence]
    redacted_ms = index.view.redacted.get(release.notification)
    return NotificationRow(
        id=NotificationId(release.notification),
        category=release.category,
        delivered_ms=release.at_ms,
        read_ms=None if bit & open_mask(index, state) else state.updated_ms,
        reopened_ms=state.unread.get(release.sequence),
        archived_ms=state.updated_ms if release.sequence in state.archived else None,
        redacted_ms=redacted_ms,
        expires_ms=release.expires_ms,
    )
