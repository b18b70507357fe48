"""Why a notice is counted, or why not: what support asks. Pure."""

from enum import StrEnum
from typing import NamedTuple

from tidings.broadcasts.model import Showing
from tidings.notices import rules, wide
from tidings.notices.model import Row, Sheet, Wide
from tidings.notices.pages import Spot


class Why(StrEnum):
    """Why a notice counts, or why not: the first of these that holds."""

    BEFORE_JOINING = "before_joining"
    NOT_REACHED = "not_reached"
    REDACTED = "redacted"
    EXPIRED = "expired"
    KEPT_NO_LONGER = "kept_no_longer"
    ARCHIVED = "archived"
    READ = "read"
    MARKED_ALL = "marked_all"
    MARKED_CATEGORY = "marked_category"
    UNREAD_AGAIN = "unread_again"
    DELIVERED = "delivered"


class Reason(NamedTuple):
    """`at_ms`: since when, by the deed that decides."""

    row: Row
    is_counted: bool
    why: Why
    at_ms: int


def reason_of(spot: Spot, sheet: Sheet) -> Reason:
    if spot.showing is None:
        return _direct(spot.row, sheet)
    is_counted = bool(wide.unread(sheet) & sheet.shown.board.bits[spot.showing.sequence])
    return Reason(spot.row, is_counted, *_why_showing(spot.row, spot.showing, sheet))


def _why_showing(row: Row, showing: Showing, sheet: Sheet) -> tuple[Why, int]:
    if not sheet.shown.board.bits[showing.sequence] & sheet.shown.reached:
        return Why.NOT_REACHED, showing.at_ms
    if showing.sequence <= sheet.wide.joined:
        return Why.BEFORE_JOINING, showing.at_ms
    if (gone := _why_gone(row, showing.at_ms, sheet)) is not None:
        return gone
    return _why_unread(row) if row.read_ms is None else _why_marked(showing, sheet.wide)


def _why_marked(showing: Showing, state: Wide) -> tuple[Why, int]:
    if showing.sequence <= state.read_before:
        return Why.MARKED_ALL, state.updated_ms
    return (Why.READ if showing.sequence in state.read else Why.MARKED_CATEGORY), state.updated_ms


def _direct(row: Row, sheet: Sheet) -> Reason:
    why, at_ms = _why(row, sheet)
    return Reason(row, rules.is_unread(row, sheet), why, at_ms)


def _why(row: Row, sheet: Sheet) -> tuple[Why, int]:
    return _why_gone(row, row.sent_ms, sheet) or _why_read(row, sheet) or _why_unread(row)


def _why_gone(row: Row, given_ms: int, sheet: Sheet) -> tuple[Why, int] | None:
    if row.redacted_ms is not None:
        return Why.REDACTED, row.redacted_ms
    if row.expires_ms is not None and row.expires_ms <= sheet.now_ms:
        return Why.EXPIRED, row.expires_ms
    if given_ms < sheet.keep_from_ms:
        return Why.KEPT_NO_LONGER, sheet.keep_from_ms
    return None if row.archived_ms is None else (Why.ARCHIVED, row.archived_ms)


def _why_read(row: Row, sheet: Sheet) -> tuple[Why, int] | None:
    counts = sheet.counts
    if row.read_ms is not None:
        return Why.READ, row.read_ms
    if row.since_ms <= counts.read_before_ms:
        return Why.MARKED_ALL, counts.read_before_ms
    if rules.is_read(row, counts):
        return Why.MARKED_CATEGORY, rules.read_up_to_ms(counts, row.category)
    return None


def _why_unread(row: Row) -> tuple[Why, int]:
    why = Why.UNREAD_AGAIN if row.reopened_ms is not None else Why.DELIVERED
    return why, row.since_ms
