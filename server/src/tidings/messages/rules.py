"""The log view of a chat, and the decision whether a proposal may be appended. Pure: no reads, no awaits."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings.messages.model import (
    NO_RULES,
    NO_SUCH_CHAT,
    NOTHING_READ,
    STATUS_CHANGING_KINDS,
    Appended,
    ChatRules,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    KeyRecord,
    PastKeySearch,
    Proposal,
    Refusal,
    RulesContext,
)

MAX_KEY_LOOKBACK: Final = 1_000
"""Maximum distance of `after` from the head. Beyond it the client must catch up first."""
MAX_RECENT_KEYS = 64
"""Nearly every `after` is within this distance of the head. Older keys are read from the log."""
NOBODY_WAITS = 10**15


class LogView[S]:
    """The cached view of one chat's log that its writers check proposals against. Possibly stale, never wrong.

    The view advances entry by entry, so it has seen everything up to `head`. A stale view costs a failed put. `S` is the
    type of a member status. Entries only say when a cached status becomes invalid.
    """

    __slots__ = (
        "_confirmed",
        "_keys",
        "floor",
        "head",
        "needed_after",
        "ordinal",
        "rules",
        "status_read_after",
        "statuses",
    )

    def __init__(self, newest: Entry) -> None:
        self.head = newest.sequence
        self.ordinal = newest.ordinal
        self.rules = newest.rules or NO_RULES
        self.floor = newest.sequence - 1  # keys are known for (floor, head]
        self.needed_after = NOBODY_WAITS
        self.statuses: dict[UserId, S] = {}
        self.status_read_after = newest.sequence
        self._confirmed: set[UserId] = set()
        self._keys: dict[IdempotencyKey, KeyRecord] = {
            newest.key: KeyRecord(newest.sequence, newest.fingerprint)
        }

    @property
    def weight(self) -> int:
        """Return the number of cached keys and statuses, to which memory use is proportional."""
        return len(self._keys) + len(self.statuses)

    def find(self, key: IdempotencyKey) -> KeyRecord | None:
        return self._keys.get(key)

    def apply(self, entry: Entry) -> None:
        """Advance by one entry. A known entry changes nothing; raises `ValueError` for a gap."""
        if entry.sequence <= self.head:
            return
        if entry.sequence != self.head + 1:
            raise ValueError(f"a view at {self.head} can't jump to {entry.sequence}")
        self.head, self.ordinal = entry.sequence, entry.ordinal
        self.rules = entry.rules or NO_RULES
        self._keys[entry.key] = KeyRecord(entry.sequence, entry.fingerprint)
        if entry.kind in STATUS_CHANGING_KINDS:
            self.status_read_after = entry.sequence
            self.statuses.clear()
            self._confirmed.clear()
        elif self.rules.slow_mode_s and entry.kind is EntryKind.MESSAGE:
            # Race: the sender has two devices, and another process commits the message of one of them. Their row has a
            # new time of the last message now: read it again, also if a read of it is in progress.
            self.status_read_after = entry.sequence
            self.statuses.pop(entry.sender, None)
            self._confirmed.discard(entry.sender)
        if min(self.head - MAX_RECENT_KEYS, self.needed_after) - self.floor > MAX_RECENT_KEYS:
            self._evict()

    def learn_status(self, user: UserId, status: S, asked_after: int) -> bool:
        """Cache a status, unless the view passed a membership entry since `asked_after`. Return whether it did."""
        # Race: the queue reads a member's row while another process commits a leave, and an event of that leave
        # advances this view. The row may be from before the leave: do not cache it, read it again.
        if self.status_read_after != asked_after:
            return False
        self.statuses[user] = status
        self._confirmed.discard(user)
        return True

    def mark_at_head(self) -> None:
        """Record that the log was read to its head after every cached status was read."""
        self._confirmed.update(self.statuses)

    def may_refuse(self, user: UserId) -> bool:
        """Return whether a refusal by this user's status is final."""
        # Race: an earlier attempt of the user's message commits, then an admin removes the user, then this process
        # reads the membership row. The row is ahead of the view and would refuse a message that was appended. So
        # refuse only after the log was read to its head after the row.
        return user in self._confirmed

    def learn_keys(self, older: Iterable[tuple[IdempotencyKey, KeyRecord]], floor: int) -> None:
        """Add the keys of `(floor, self.floor]`, as read from the log."""
        self._keys = dict(older) | self._keys
        self.floor = min(self.floor, floor)

    def _evict(self) -> None:
        """Keep the newest keys and those that a queued proposal needs. Evicts once in many entries."""
        # Race: a sender with an old `after` reads keys while other senders of a busy chat append. Without
        # `needed_after` these keys would be evicted before they are used, and the sender would read them again,
        # append by append, and never get a sequence.
        self.floor = min(self.head - MAX_RECENT_KEYS, self.needed_after)
        self._keys = {key: seen for key, seen in self._keys.items() if seen.sequence > self.floor}


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
    now_ms: int = 0,
) -> AppendDecision:
    """Decide on one proposal. `before` are the keys of the proposals that precede it in the batch.

    `is_fresh`: the view was read to the head after the proposal arrived. `past`: keys below the view that were read
    for this proposal. `now_ms`: the server's clock, by which mutes end and slow mode counts.
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
        by_status = _decide_by_status(view, proposal, is_fresh=is_fresh, now_ms=now_ms)
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


def _decide_by_status[S](
    view: LogView[S], proposal: Proposal[S], *, is_fresh: bool, now_ms: int
) -> AppendDecision:
    """Decide by the sender's cached member status and the chat's rules as of the head."""
    # Race: another process appends a leave or join of the sender while this view is behind. A stale status that allows
    # is harmless, because the put at head + 1 fails. A refusal writes nothing that could fail, so the log is read to
    # its head first.
    status = view.statuses.get(proposal.draft.sender)
    if status is None:
        return NextStep.READ_MEMBER_STATUS
    code = proposal.may(status, proposal.after)
    refused = None if code is None else Refusal(code)
    if refused is None and proposal.obeys is not None:
        refused = proposal.obeys(status, RulesContext(view.rules, now_ms, proposal.after))
    if refused is None:
        return NextStep.APPEND
    is_confirmed = is_fresh and view.may_refuse(proposal.draft.sender)
    return refused if is_confirmed else NextStep.REFRESH_VIEW


def make_entry(
    draft: Draft,
    sequence: int,
    ordinal_before: int,
    *,
    now_ms: int,
    content: bytes | None,
    epoch: int,
    rules_before: ChatRules = NO_RULES,
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
        attachments=draft.attachments,
        until_ms=draft.until_ms,
        reason=draft.reason,
        rules=_rules_after(rules_before, draft.rules, sequence),
    )


def _rules_after(before: ChatRules, change: ChatRules | None, sequence: int) -> ChatRules | None:
    """Return the rules that hold after an entry; None for a chat without rules, as nearly all are.

    The end of a freeze is carried as long as a client may send with a position from before it.
    """
    unfrozen_at = before.unfrozen_at
    if change is not None and before.is_frozen and not change.is_frozen:
        unfrozen_at = sequence
    if sequence - unfrozen_at > MAX_KEY_LOOKBACK:
        unfrozen_at = 0
    now = before if change is None else change
    rules = ChatRules(now.is_frozen, now.slow_mode_s, unfrozen_at)
    return None if rules == NO_RULES else rules


def refusal_error(code: Code, retry_after_ms: int | None = None) -> TidingsError:
    """Return the error of a refusal. An idempotency row stores the code alone, so retries get a general text."""
    details = {} if retry_after_ms is None else {"retry_after_ms": retry_after_ms}
    reason = _REASONS.get(code, "An earlier request with this key was refused.")
    return TidingsError(code, reason, details=details)


_REASONS = {
    Code.IDEMPOTENCY_CONFLICT: "A message with this key was already sent with different content.",
    Code.POSITION_AHEAD: "`after` is above the highest sequence of this chat.",
    Code.POSITION_TOO_OLD: "`after` is too far behind the newest entry. Read the newer entries, then send again.",
    Code.CHAT_NOT_FOUND: NO_SUCH_CHAT,
    Code.NOT_A_MEMBER: "The sender is not a member of this chat.",
    Code.FORBIDDEN: "The sender may not do this in this chat.",
    Code.MESSAGE_REFUSED: "The message was refused.",
    Code.CHAT_FROZEN: "The chat is frozen: only its admins may send messages.",
    Code.MUTED: "The sender is muted in this chat.",
    Code.SLOW_MODE: "The chat has slow mode, and the sender's last message was too recent.",
    Code.BLOCKED: "One of the two users has blocked the other.",
    Code.UPLOAD_NOT_FOUND: "One of the attachments does not exist, or it belongs to another message.",
    Code.WRITE_CONFLICT: "The item was changed by another request. Read it again and retry.",
}
