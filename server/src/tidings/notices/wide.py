"""What is unread of broadcasts, and what every deed does to a user's state of them. Pure.

Counts are sets and never subtraction: a broadcast that died leaves them by itself, whatever the state still says of it.
Sets of broadcasts are the bits of a number (`Board`); what is written has their sequences.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from tidings.broadcasts.model import Board, Showing
from tidings.kernel.ids import encode_ulid
from tidings.notices.model import NoticeId, Row, Sheet, Tally, Wide


def visible(sheet: Sheet) -> int:
    """Live, for this user, and since he came; in the archive or not."""
    board = sheet.shown.board
    live = board.live(sheet.now_ms, sheet.keep_from_ms)
    return sheet.shown.reached & live & board.above(sheet.wide.joined)


def above_marks(board: Board, wide: Wide) -> int:
    """Above both watermarks: that of all, and that of its category."""
    above = board.above(wide.read_before)
    for code, sequence in wide.category_read_before.items():
        above &= ~board.categories.get(code, 0) | board.above(sequence)
    return above


def open_bits(board: Board, wide: Wide) -> int:
    """Not read, whether to be seen or not."""
    return (above_marks(board, wide) & ~board.of(wide.read)) | board.of(wide.unread)


def archived_bits(sheet: Sheet) -> int:
    return sheet.shown.board.of(sheet.wide.archived)


def unread(sheet: Sheet) -> int:
    """What the counts count."""
    return visible(sheet) & ~archived_bits(sheet) & open_bits(sheet.shown.board, sheet.wide)


def counted(sheet: Sheet) -> Sheet:
    """With the tally of what it shows."""
    return replace(sheet, tally=_tally(sheet) if sheet.shown.reached else Tally())


def _tally(sheet: Sheet) -> Tally:
    mask, board = unread(sheet), sheet.shown.board
    by_category = {
        code: count
        for code, bits in board.categories.items()
        if code and (count := (mask & bits).bit_count())
    }
    unseen = (mask & board.above(sheet.wide.seen_before)).bit_count()
    return Tally(mask.bit_count(), by_category, unseen, board.next_end_ms(mask, sheet.now_ms))


def named(sheet: Sheet, notice: NoticeId) -> int:
    """The one that the user has of it: steps of a ramp have different users."""
    return sheet.shown.board.of_notice(notice) & visible(sheet)


def marked_read(sheet: Sheet, bits: int) -> Wide:
    board, wide = sheet.shown.board, sheet.wide
    now_read = _sequences(board, bits & open_bits(board, wide))
    return replace(wide, read=wide.read | now_read, unread=_without(wide.unread, now_read))


def reopened(sheet: Sheet, bits: int) -> Wide:
    board, wide = sheet.shown.board, sheet.wide
    again = _sequences(board, bits & ~open_bits(board, wide))
    times = dict.fromkeys(again, sheet.now_ms)
    return replace(wide, read=wide.read - again, unread={**wide.unread, **times})


def archived(sheet: Sheet, bits: int) -> Wide:
    return replace(sheet.wide, archived=sheet.wide.archived | _sequences(sheet.shown.board, bits))


def restored(sheet: Sheet, bits: int) -> Wide:
    return replace(sheet.wide, archived=sheet.wide.archived - _sequences(sheet.shown.board, bits))


def marked_all(sheet: Sheet, before_ms: int | None, category: int | None) -> Wide:
    """Up to the end of the log as it was shown, or to what was given up to a time."""
    board, wide = sheet.shown.board, sheet.wide
    is_now = before_ms is None or before_ms >= sheet.now_ms
    up_to = board.head if is_now else board.until_ms(before_ms or 0)
    meant = board.everything if category is None else board.categories.get(category, 0)
    if not (meant & above_marks(board, wide) & ~board.above(up_to)) and not wide.unread:
        return wide
    again = {
        sequence: at_ms
        for sequence, at_ms in wide.unread.items()
        if not (board.of([sequence]) & meant) or (not is_now and at_ms > (before_ms or 0))
    }
    return _with_mark(replace(wide, unread=again), up_to, category)


def all_seen(sheet: Sheet) -> Wide:
    board, wide = sheet.shown.board, sheet.wide
    is_news = board.standing & board.above(wide.seen_before)
    return replace(wide, seen_before=board.head) if is_news else wide


def newly_read(sheet: Sheet, after: Wide) -> list[NoticeId]:
    """Of those whose readers are noted."""
    board = sheet.shown.board
    if not board.tracked:
        return []
    gone = open_bits(board, sheet.wide) & ~open_bits(board, after)
    return [NoticeId(each.notice) for each in board.shown(gone & board.tracked & visible(sheet))]


def following(sheet: Sheet, wide: Wide) -> Wide | None:
    """To be written after the one that stands; None: nothing changed. Without what is dead or says nothing more.

    What is above the head of this copy may be known to another process, and stays.
    """
    if wide == sheet.wide:
        return None
    board = sheet.shown.board
    marks = {code: at for code, at in wide.category_read_before.items() if at > wide.read_before}
    kept = replace(wide, category_read_before=marks)
    above = above_marks(board, kept)
    return replace(
        kept,
        read=frozenset(each for each in wide.read if _matters(board, each, above)),
        unread={each: at for each, at in wide.unread.items() if _matters(board, each, board.standing)},
        archived=frozenset(each for each in wide.archived if _matters(board, each, board.standing)),
        updated_ms=sheet.now_ms,
        version=sheet.wide.version + 1,
    )


def _matters(board: Board, sequence: int, among: int) -> bool:
    return sequence > board.head or bool(board.bits.get(sequence, 0) & among & board.standing)


def _with_mark(wide: Wide, up_to: int, category: int | None) -> Wide:
    if category is None:
        return replace(wide, read_before=max(up_to, wide.read_before))
    marks = dict(wide.category_read_before)
    marks[category] = max(up_to, marks.get(category, 0))
    return replace(wide, category_read_before=marks)


def _sequences(board: Board, bits: int) -> frozenset[int]:
    return frozenset(each.sequence for each in board.shown(bits))


def _without(times: Mapping[int, int], gone: frozenset[int]) -> dict[int, int]:
    return {each: at_ms for each, at_ms in times.items() if each not in gone}


def place_of_showing(showing: Showing) -> NoticeId:
    """Where it stands among a user's notices: at the time when he got it, not when it was made ready."""
    return NoticeId(encode_ulid(showing.at_ms, showing.sequence))


def row_of(showing: Showing, sheet: Sheet) -> Row:
    """As if it were his alone. When he read or archived it is not kept: `updated_ms` is the latest it can have been."""
    board, wide = sheet.shown.board, sheet.wide
    bit = board.bits[showing.sequence]
    redacted_ms = board.view.redacted.get(showing.notice)
    return Row(
        id=NoticeId(showing.notice),
        category=showing.category,
        delivered_ms=showing.at_ms,
        read_ms=None if bit & open_bits(board, wide) else wide.updated_ms,
        reopened_ms=wide.unread.get(showing.sequence),
        archived_ms=wide.updated_ms if showing.sequence in wide.archived else None,
        redacted_ms=redacted_ms,
        expires_ms=showing.expires_ms,
    )
