"""Decide whether a proposal may be appended, given a log view. Pure: no reads, no awaits."""

from collections.abc import Container
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tidings.kernel.errors import Code, TidingsError
from tidings.messages.log_view import MAX_RECENT_KEYS, LogView
from tidings.messages.model import (
    NO_SUCH_CHAT,
    NOTHING_READ,
    Appended,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    KeyRecord,
    PastKeySearch,
    Proposal,
    Refusal,
)

MAX_KEY_LOOKBACK: Final = 1_000
"""Maximum distance of `after` from the head. Beyond it the client must catch up first."""


class NextStep(Enum):
    """The next step for a proposal that is neither settled nor refused."""

    APPEND = auto()
    REFRESH_VIEW = auto()
    """`after` is above the view's head, or the member status refuses the sender: read the log to its head first."""
    READ_MEMBER_STATUS = auto()
    WAIT_FOR_DUPLICATE = auto()
    """The same key is already in this batch: wait for the outcome of that append."""


@dataclass(frozen=True, slots=True)
class NeedsKeys:
    """The view does not have the keys of `(after, floor]`: read them into the view."""

    after: int


@dataclass(frozen=True, slots=True)
class NeedsPastKeys:
    """`after` is further back than a view reaches: read the keys of `(after, up_to]` for this proposal alone."""

    after: int
    up_to: int


type AppendDecision = Appended | Refusal | NeedsKeys | NeedsPastKeys | NextStep


def decide[S](
    view: LogView[S],
    before: Container[IdempotencyKey],
    proposal: Proposal[S],
    *,
    is_fresh: bool,
    past: PastKeySearch = NOTHING_READ,
) -> AppendDecision:
    """Decide on one proposal. `before` are the keys of the proposals that precede it in the batch.

    `is_fresh`: the view was read to the head after the proposal arrived. `past`: keys below the view that were read
    for this proposal.
    """
    # Race: a message is appended, its ack is lost, an admin removes the sender, and the client retries. The duplicate
    # check comes before the membership check, so the retry receives its sequence instead of `not_a_member`.
    key = proposal.draft.key
    seen = view.find(key) or past.seen
    if seen is not None:
        return find_repeat(seen, proposal.draft)
    if key in before:
        return NextStep.WAIT_FOR_DUPLICATE
    after = _check_after(view, proposal.after, past.up_to, is_fresh=is_fresh)
    if after is None or isinstance(after, Refusal | NeedsPastKeys):
        by_status = _decide_by_status(view, proposal, is_fresh=is_fresh)
        return by_status if after is None else _unless_stranger(after, by_status)
    return after


def _unless_stranger(after: Refusal | NeedsPastKeys, by_status: AppendDecision) -> AppendDecision:
    """Return `after` for users who are or were members. A stranger must not learn the chat's head."""
    is_known = by_status is NextStep.APPEND or (
        isinstance(by_status, Refusal) and by_status.code is not Code.CHAT_NOT_FOUND
    )
    return after if is_known else by_status


def find_repeat(seen: KeyRecord, draft: Draft) -> Appended | Refusal:
    """Compare a retry with the content that was sent first, not with later edits or a redaction."""
    if seen.fingerprint != draft.fingerprint:
        return Refusal(Code.IDEMPOTENCY_CONFLICT)
    return Appended(seen.sequence, is_repeat=True)


def _check_after[S](
    view: LogView[S], after: int | None, read_up_to: int, *, is_fresh: bool
) -> Refusal | NeedsKeys | NeedsPastKeys | NextStep | None:
    if after is None:
        return None
    if after > view.head:
        return Refusal(Code.POSITION_AHEAD) if is_fresh else NextStep.REFRESH_VIEW
    if view.head - after > MAX_KEY_LOOKBACK:
        return Refusal(Code.POSITION_TOO_OLD)
    after = max(after, read_up_to)
    if after >= view.floor:
        return None
    return NeedsKeys(after) if view.head - after <= MAX_RECENT_KEYS else NeedsPastKeys(after, view.head)


def _decide_by_status[S](view: LogView[S], proposal: Proposal[S], *, is_fresh: bool) -> AppendDecision:
    """Decide by the sender's cached member status."""
    # Race: another process appends a leave or join of the sender while this view is behind. A stale status that allows
    # is harmless, because the put at head + 1 fails. A refusal writes nothing that could fail, so the log is read to
    # its head first.
    status = view.statuses.get(proposal.draft.sender)
    if status is None:
        return NextStep.READ_MEMBER_STATUS
    refused = proposal.may(status, proposal.after)
    if refused is None:
        return NextStep.APPEND
    is_confirmed = is_fresh and view.may_refuse(proposal.draft.sender)
    return Refusal(refused) if is_confirmed else NextStep.REFRESH_VIEW


def make_entry(
    draft: Draft, sequence: int, ordinal_before: int, *, now_ms: int, content: bytes | None, epoch: int
) -> Entry:
    """Return the draft as the entry at this sequence. Only messages raise the ordinal."""
    return Entry(
        sequence=sequence,
        ordinal=ordinal_before + (draft.kind is EntryKind.MESSAGE),
        kind=draft.kind,
        sender=draft.sender,
        client_key=draft.client_key,
        fingerprint=draft.fingerprint,
        created_at_ms=now_ms,
        epoch=epoch,
        content=content,
        content_type=draft.content_type,
        visible_until_ms=draft.visible_until_ms,
        refers_to=draft.refers_to,
        emoji=draft.emoji,
        name=draft.name,
        role=draft.role,
        users=draft.users,
        member_count=draft.member_count,
    )


def refusal_error(code: Code) -> TidingsError:
    """Return the error of a refusal. An idempotency row stores the code alone, so retries get a general text."""
    return TidingsError(code, _REASONS.get(code, "An earlier request with this key was refused."))


_REASONS = {
    Code.IDEMPOTENCY_CONFLICT: "A message with this key was already sent with different content.",
    Code.POSITION_AHEAD: "`after` is above the highest sequence of this chat.",
    Code.POSITION_TOO_OLD: "`after` is too far behind the newest entry. Read the newer entries, then send again.",
    Code.CHAT_NOT_FOUND: NO_SUCH_CHAT,
    Code.NOT_A_MEMBER: "The sender is not a member of this chat.",
    Code.FORBIDDEN: "The sender may not do this in this chat.",
    Code.BLOCKED: "One of the two users has blocked the other.",
    Code.WRITE_CONFLICT: "The item was changed by another request. Read it again and retry.",
}
