"""Edit, redact and react: each appends an entry that refers to a message and changes its row in one transaction.

The entry has no content of its own, so no content remains after a redaction.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages import sender as contents
from tidings.messages.content_review import review_content
from tidings.messages.model import (
    MODERATOR,
    Appended,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    PermissionCheck,
    Proposal,
    ReactionChange,
    ReviewRequest,
    RulesCheck,
    SideWrites,
    reaction_mark,
)
from tidings.messages.ports import BeforeSend, EditStore, KeyProvider, LogReader
from tidings.messages.sender import Appender, Content

NO_SUCH_MESSAGE = "There is no such message."
MAX_EMOJI_BYTES = 32
MAX_EMOJI = 20
USERS_SHOWN = 20
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """The user, the message to change, and the idempotency key of the request."""

    chat: ChatKey
    user: UserId
    client_key: ClientKey
    sequence: int
    after: int | None = None

    def fingerprint_input(self, kind: EntryKind, body: bytes) -> bytes:
        return contents.fingerprint_input(
            self.chat, IdempotencyKey(self.user, self.client_key), kind, body, about=self.sequence
        )


@dataclass(frozen=True, slots=True)
class ChangePermissions[S]:
    """The permission check for each change of a message."""

    edit_own: PermissionCheck[S]
    redact_own: PermissionCheck[S]
    redact_others: PermissionCheck[S]
    react: PermissionCheck[S]
    obeys: RulesCheck[S] | None = None
    """The chat's rules, for edits and reactions. A redaction only removes content, so a muted user may redact."""


class MessageEdits[S]:
    def __init__(
        self,
        appends: Appender[S],
        reader: LogReader,
        edits: EditStore,
        *,
        keys: KeyProvider,
        permissions: ChangePermissions[S],
        clock: Clock,
        before_send: BeforeSend | None = None,
    ) -> None:
        self._before_send = before_send
        self._appends = appends
        self._reader = reader
        self._edits = edits
        self._keys = keys
        self._permissions = permissions
        self._clock = clock

    async def edit(self, request: ChangeRequest, content: Content) -> Appended:
        """Replace the content of a message; allowed to its sender only. Encrypted for the message's own sequence."""
        if content.attachments:
            raise TidingsError(Code.REQUEST_INVALID, "An edit does not change attachments.")
        body = contents.encode_content(content)
        review = await review_content(
            self._before_send,
            ReviewRequest(request.chat, request.user, request.client_key, EntryKind.EDIT, body),
        )
        keys = await self._keys.of(request.chat.tenant, request.user)
        fingerprint = keys.fingerprint(request.fingerprint_input(EntryKind.EDIT, body))

        def side_writes(seen: Entry, _: bool) -> SideWrites:  # noqa: FBT001
            _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
            sealed = keys.seal(request.chat, seen.sequence, review.body)
            now_ms = self._clock.now_ms()
            writes = self._edits.edit(request.chat, seen, sealed, now_ms)
            if not review.is_flagged:
                return writes
            return self._edits.flagged(request.chat, seen.sequence, seen.sender, writes, now_ms)

        def permit(seen: Entry) -> PermissionCheck[S]:
            if seen.sender != request.user:
                return self._edit_others
            if seen.visible_until_ms is not None:
                raise TidingsError(Code.REQUEST_INVALID, "A message that expires cannot be edited.")
            if seen.archived_in is not None:
                raise TidingsError(Code.REQUEST_INVALID, "An archived message cannot be edited.")
            return review.permit(self._permissions.edit_own)

        draft = _draft(request, EntryKind.EDIT, fingerprint)
        with review.explained():
            return await self._change(request, draft, permit, side_writes)

    async def redact(self, request: ChangeRequest) -> Appended:
        """Remove the content of a message. `MODERATOR` has no keys of its own: there is no content to keep secret."""
        described = request.fingerprint_input(EntryKind.REDACTION, b"")
        if request.user == MODERATOR:
            fingerprint = hashlib.sha256(described).digest()[:_DIGEST_BYTES]
        else:
            fingerprint = (await self._keys.of(request.chat.tenant, request.user)).fingerprint(described)

        def permit(seen: Entry) -> PermissionCheck[S]:
            is_own = seen.sender == request.user
            return self._permissions.redact_own if is_own else self._permissions.redact_others

        def side_writes(seen: Entry, _: bool) -> SideWrites:  # noqa: FBT001
            _refuse_redacted(seen, Code.NO_CHANGE)
            return self._edits.redaction(request.chat, seen, self._clock.now_ms())

        return await self._change(
            request, _draft(request, EntryKind.REDACTION, fingerprint), permit, side_writes
        )

    async def react(self, request: ChangeRequest, emoji: str, *, is_added: bool = True) -> Appended:
        if not 0 < len(emoji.encode()) <= MAX_EMOJI_BYTES:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"The emoji has {len(emoji.encode())} bytes; 1 to {MAX_EMOJI_BYTES} are allowed.",
            )
        keys = await self._keys.of(request.chat.tenant, request.user)
        change = f"{'+' if is_added else '-'}{emoji}"
        fingerprint = keys.fingerprint(request.fingerprint_input(EntryKind.REACTION, change.encode()))

        def side_writes(seen: Entry, has: bool) -> SideWrites:  # noqa: FBT001 - called by `_change` alone
            if seen.visible_until_ms is not None and seen.visible_until_ms <= self._clock.now_ms():
                raise TidingsError(Code.MESSAGE_NOT_FOUND, "The message has expired.")
            reacted = apply_reaction(seen, request.user, emoji, is_added=is_added, has=has)
            return self._edits.reaction(request.chat, seen, reacted, self._clock.now_ms())

        draft = _draft(request, EntryKind.REACTION, fingerprint, emoji=change)
        return await self._change(request, draft, lambda _: self._permissions.react, side_writes, emoji=emoji)

    async def _has_reacted(self, request: ChangeRequest, seen: Entry, emoji: str) -> bool:
        """Return whether the user has this reaction. Reads their item only if the row does not list all users."""
        if reaction_mark(emoji, request.user) in seen.reaction_users:
            return True
        if sum((seen.reaction_counts or {}).values()) == len(seen.reaction_users):
            return False
        return await self._edits.has_reaction(request.chat, seen.sequence, request.user, emoji)

    async def _change(
        self,
        request: ChangeRequest,
        draft: Draft,
        permit: Callable[[Entry], PermissionCheck[S]],
        side_writes: Callable[[Entry, bool], SideWrites],
        *,
        emoji: str | None = None,
    ) -> Appended:
        """Append a change with its side writes. Read the message again and retry if its row has changed meanwhile."""

        # Race: another user edits, redacts or reacts between our read of the message and our commit. The side
        # writes are conditional on the row as read, so the transaction fails and `retry_on_conflict` repeats it.
        async def once() -> Appended:
            seen = await self._message(request)
            obeys = None if draft.kind is EntryKind.REDACTION else self._permissions.obeys
            proposal = Proposal(draft, permit(seen), request.after, obeys=obeys)
            has = emoji is not None and await self._has_reacted(request, seen, emoji)
            with _hide_chat():
                return await self._appends.append(request.chat, proposal, lambda _: side_writes(seen, has))

        return await retry_on_conflict(once)

    async def _message(self, request: ChangeRequest) -> Entry:
        seen = await self._reader.one(request.chat, request.sequence)
        if seen is None or seen.kind is not EntryKind.MESSAGE:
            raise TidingsError(Code.MESSAGE_NOT_FOUND, NO_SUCH_MESSAGE)
        return seen

    def _edit_others(self, status: S, after: int | None, /) -> Code:
        """Refuse to edit the message of another user; a stranger learns only that there is no such chat."""
        return self._permissions.edit_own(status, after) or Code.FORBIDDEN


@contextmanager
def _hide_chat() -> Iterator[None]:
    """Raise for a stranger to the chat the error of a message that does not exist."""
    try:
        yield
    except TidingsError as error:
        if error.code is not Code.CHAT_NOT_FOUND:
            raise
        raise TidingsError(Code.MESSAGE_NOT_FOUND, NO_SUCH_MESSAGE) from None


def apply_reaction(seen: Entry, user: UserId, emoji: str, *, is_added: bool, has: bool) -> ReactionChange:
    """Return the row's counts and listed users after the change. Raises `no_change` if nothing would change.

    `has`: the user has this reaction. The transaction checks the user's item again.
    """
    _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
    if is_added == has:
        raise TidingsError(
            Code.NO_CHANGE, f"The reaction {emoji} is already {'set' if is_added else 'removed'}."
        )
    counts, mark = dict(seen.reaction_counts or {}), reaction_mark(emoji, user)
    counts[emoji] = counts.get(emoji, 0) + (1 if is_added else -1)
    if counts[emoji] <= 0:
        del counts[emoji]
    if len(counts) > MAX_EMOJI:
        raise TidingsError(Code.REQUEST_INVALID, f"A message has at most {MAX_EMOJI} different reactions.")
    if is_added:
        users = (*seen.reaction_users, mark)[:USERS_SHOWN]
    else:
        users = tuple(other for other in seen.reaction_users if other != mark)
    return ReactionChange(user, emoji, is_added, counts, users)


def _refuse_redacted(seen: Entry, code: Code) -> None:
    if seen.redacted_at_ms is not None:
        raise TidingsError(code, "The message has been redacted.")


def _draft(request: ChangeRequest, kind: EntryKind, fingerprint: bytes, *, emoji: str | None = None) -> Draft:
    return Draft(
        kind=kind,
        sender=request.user,
        client_key=request.client_key,
        fingerprint=fingerprint,
        refers_to=request.sequence,
        emoji=emoji,
    )
