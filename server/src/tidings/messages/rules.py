"""What may be appended, as of a view. Pure: reads nothing, awaits nothing."""

from collections.abc import Container
from dataclasses import dataclass
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
"""How far back `after` may lie before the client must catch up first."""


@dataclass(frozen=True, slots=True)
class ClientAhead:
    """The client has seen more than the view: look again before judging."""


@dataclass(frozen=True, slots=True)
class NeedsKeys:
    """The view does not reach back to where the client stood."""

    after: int


@dataclass(frozen=True, slots=True)
class NeedsPastKeys:
    """The client stood further back than a view reaches: the keys of (after, up_to] are to be read for it alone."""

    after: int
    up_to: int


@dataclass(frozen=True, slots=True)
class NeedsMemberStatus:
    pass


@dataclass(frozen=True, slots=True)
class NeedsRefresh:
    """The row would refuse him; the log is read up to the head before it does."""


@dataclass(frozen=True, slots=True)
class DuplicateInBatch:
    """The same key is in this batch already; its fate decides."""


@dataclass(frozen=True, slots=True)
class AppendAllowed:
    pass


type AppendDecision = (
    Appended
    | Refusal
    | ClientAhead
    | NeedsKeys
    | NeedsPastKeys
    | NeedsMemberStatus
    | NeedsRefresh
    | DuplicateInBatch
    | AppendAllowed
)

AHEAD, NEEDS_STATUS, NEEDS_CONFIRMING = ClientAhead(), NeedsMemberStatus(), NeedsRefresh()
TWIN, ADMITTED = DuplicateInBatch(), AppendAllowed()


def decide[S](
    view: LogView[S],
    before: Container[IdempotencyKey],
    proposal: Proposal[S],
    *,
    is_fresh: bool,
    past: PastKeySearch = NOTHING_READ,
) -> AppendDecision:
    """The duplicate check comes before the membership check: who was removed after his message got in still hears so.

    `is_fresh`: the view was read to the head after the proposal came in. `past`: what was read for this proposal
    alone, below the view.
    """
    key = proposal.draft.key
    seen = view.find(key) or past.seen
    if seen is not None:
        return find_repeat(seen, proposal.draft)
    if key in before:
        return TWIN
    after = _judge_after(view, proposal.after, past.up_to, is_fresh=is_fresh)
    if after is None or isinstance(after, Refusal | NeedsPastKeys):
        standing = _decide_by_status(view, proposal, is_fresh=is_fresh)
        return standing if after is None else _unless_a_stranger(after, standing)
    return after


def _unless_a_stranger(after: Refusal | NeedsPastKeys, standing: AppendDecision) -> AppendDecision:
    """Only users who know of the chat are told where its log stands, or have its past read."""
    is_known = standing is ADMITTED or (
        isinstance(standing, Refusal) and standing.code is not Code.CHAT_NOT_FOUND
    )
    return after if is_known else standing


def find_repeat(seen: KeyRecord, draft: Draft) -> Appended | Refusal:
    """Held against what was sent then, not against what an edit or a redaction made of it."""
    if seen.fingerprint != draft.fingerprint:
        return Refusal(Code.IDEMPOTENCY_CONFLICT)
    return Appended(seen.sequence, is_repeat=True)


def _judge_after[S](
    view: LogView[S], after: int | None, read_up_to: int, *, is_fresh: bool
) -> Refusal | ClientAhead | NeedsKeys | NeedsPastKeys | None:
    if after is None:
        return None
    if after > view.head:
        return Refusal(Code.POSITION_AHEAD) if is_fresh else AHEAD
    if view.head - after > MAX_KEY_LOOKBACK:
        return Refusal(Code.POSITION_TOO_OLD)
    after = max(after, read_up_to)
    if after >= view.floor:
        return None
    return NeedsKeys(after) if view.head - after <= MAX_RECENT_KEYS else NeedsPastKeys(after, view.head)


def _decide_by_status[S](view: LogView[S], proposal: Proposal[S], *, is_fresh: bool) -> AppendDecision:
    """Admitting is cheap, because the put fails if the view is behind. Nothing vouches for a refusal but reading on."""
    standing = view.standings.get(proposal.draft.sender)
    if standing is None:
        return NEEDS_STATUS
    refused = proposal.may(standing, proposal.after)
    if refused is None:
        return ADMITTED
    is_confirmed = is_fresh and view.may_refuse(proposal.draft.sender)
    return Refusal(refused) if is_confirmed else NEEDS_CONFIRMING


def make_entry(
    draft: Draft, sequence: int, ordinal_before: int, *, now_ms: int, content: bytes | None, epoch: int
) -> Entry:
    """The entry that the draft becomes at this sequence. Messages count as unread, the rest doesn't."""
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
    """A key's row keeps the code of whatever a change was refused for; the words were for the first try."""
    return TidingsError(code, _REASONS.get(code, "This was refused before, under the same key."))


_REASONS = {
    Code.IDEMPOTENCY_CONFLICT: "A message with this key was sent before, with other content.",
    Code.POSITION_AHEAD: "`after` lies above everything that was ever committed in this chat.",
    Code.POSITION_TOO_OLD: "`after` lies too far back: read what came since, then send again.",
    Code.CHAT_NOT_FOUND: NO_SUCH_CHAT,
    Code.NOT_A_MEMBER: "The sender is not a member of this chat.",
    Code.FORBIDDEN: "The sender may not do this in this chat.",
    Code.BLOCKED: "One of the two has blocked the other.",
    Code.WRITE_CONFLICT: "What was to be changed has changed meanwhile: read it again.",
}
