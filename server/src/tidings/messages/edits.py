"""Edits, redactions and reactions: each an entry that refers to a message and changes its row in one transaction.

The entry has no content of its own, so nothing outlives a redaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages import sender as contents
from tidings.messages.model import (
    Appended,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    PermissionCheck,
    Proposal,
    ReactionChange,
    SideWrites,
)
from tidings.messages.ports import EditWriter, Keys, LogReader, ReactionWriter
from tidings.messages.sender import Appender, Content

NO_SUCH_MESSAGE = "There is no such message."
MAX_EMOJI_BYTES = 32
MAX_EMOJI = 20
USERS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Who asks what of which message, under which key."""

    chat: ChatKey
    user: UserId
    client_key: ClientKey
    sequence: int
    after: int | None = None

    def said(self, kind: EntryKind, body: bytes) -> bytes:
        return contents.fingerprint_input(
            self.chat, IdempotencyKey(self.user, self.client_key), kind, body, about=self.sequence
        )


@dataclass(frozen=True, slots=True)
class ChangePermissions[S]:
    """The chats' own permissions, one for each thing that can be done to a message."""

    edit_own: PermissionCheck[S]
    redact_own: PermissionCheck[S]
    redact_others: PermissionCheck[S]
    react: PermissionCheck[S]


class MessageEdits[S]:
    def __init__(
        self,
        appends: Appender[S],
        reader: LogReader,
        changes: EditWriter,
        reactions: ReactionWriter,
        *,
        keys: Keys,
        permits: ChangePermissions[S],
        clock: Clock,
    ) -> None:
        self._appends = appends
        self._reader = reader
        self._changes = changes
        self._reactions = reactions
        self._keys = keys
        self._permits = permits
        self._clock = clock

    async def edit(self, request: ChangeRequest, content: Content) -> Appended:
        """By its sender only. The content is sealed for the message's own place."""
        body = contents.encode_content(content)
        keys = await self._keys.of(request.chat.tenant)
        fingerprint = keys.fingerprint(request.said(EntryKind.EDIT, body))

        def beside(seen: Entry, _: bool) -> SideWrites:  # noqa: FBT001
            _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
            sealed = keys.seal(request.chat, seen.sequence, body)
            return self._changes.edit(request.chat, seen, sealed, self._clock.now_ms())

        def permit(seen: Entry) -> PermissionCheck[S]:
            if seen.sender != request.user:
                return self._edit_others
            if seen.visible_until_ms is not None:
                raise TidingsError(Code.REQUEST_INVALID, "A message that expires is not edited.")
            return self._permits.edit_own

        return await self._change(request, _draft(request, EntryKind.EDIT, fingerprint), permit, beside)

    async def redact(self, request: ChangeRequest) -> Appended:
        keys = await self._keys.of(request.chat.tenant)
        fingerprint = keys.fingerprint(request.said(EntryKind.REDACTION, b""))

        def permit(seen: Entry) -> PermissionCheck[S]:
            is_own = seen.sender == request.user
            return self._permits.redact_own if is_own else self._permits.redact_others

        def beside(seen: Entry, _: bool) -> SideWrites:  # noqa: FBT001
            _refuse_redacted(seen, Code.NO_CHANGE)
            return self._changes.redaction(request.chat, seen, self._clock.now_ms())

        return await self._change(request, _draft(request, EntryKind.REDACTION, fingerprint), permit, beside)

    async def react(self, request: ChangeRequest, emoji: str, *, is_added: bool = True) -> Appended:
        if not 0 < len(emoji.encode()) <= MAX_EMOJI_BYTES:
            raise TidingsError(Code.REQUEST_INVALID, f"An emoji has 1 to {MAX_EMOJI_BYTES} bytes.")
        keys = await self._keys.of(request.chat.tenant)
        said = f"{'+' if is_added else '-'}{emoji}"
        fingerprint = keys.fingerprint(request.said(EntryKind.REACTION, said.encode()))

        def beside(seen: Entry, has: bool) -> SideWrites:  # noqa: FBT001 - called by `_change` alone
            change = apply_reaction(seen, request.user, emoji, is_added=is_added, has=has)
            return self._changes.reaction(request.chat, seen, change, self._clock.now_ms())

        draft = _draft(request, EntryKind.REACTION, fingerprint, emoji=said)
        return await self._change(request, draft, lambda _: self._permits.react, beside, emoji=emoji)

    async def _has_reacted(self, request: ChangeRequest, seen: Entry, emoji: str) -> bool:
        """Ask for the user's own item only if the row does not tell: it names everybody, or it names them."""
        if _mark(emoji, request.user) in seen.reaction_users:
            return True
        if sum((seen.reaction_counts or {}).values()) == len(seen.reaction_users):
            return False
        return await self._reactions.has(request.chat, seen.sequence, request.user, emoji)

    async def _change(
        self,
        request: ChangeRequest,
        draft: Draft,
        permit: Callable[[Entry], PermissionCheck[S]],
        side_writes: Callable[[Entry, bool], SideWrites],
        *,
        emoji: str | None = None,
    ) -> Appended:
        """Append the change and its writes, prepared on rows as they are now, again if these change meanwhile."""

        async def once() -> Appended:
            seen = await self._message(request)
            proposal = Proposal(draft, permit(seen), request.after)
            has = emoji is not None and await self._has_reacted(request, seen, emoji)
            with _as_if_not_there():
                return await self._appends.append(request.chat, proposal, lambda _: side_writes(seen, has))

        return await retry_on_conflict(once)

    async def _message(self, request: ChangeRequest) -> Entry:
        seen = await self._reader.one(request.chat, request.sequence)
        if seen is None or seen.kind is not EntryKind.MESSAGE:
            raise TidingsError(Code.MESSAGE_NOT_FOUND, NO_SUCH_MESSAGE)
        return seen

    def _edit_others(self, standing: S, after: int | None, /) -> Code:
        """Nobody may. Who is no member is told that instead, and a stranger nothing."""
        return self._permits.edit_own(standing, after) or Code.FORBIDDEN


@contextmanager
def _as_if_not_there() -> Iterator[None]:
    """A stranger to the chat gets the answer that he gets for a message that nobody ever sent."""
    try:
        yield
    except TidingsError as error:
        if error.code is not Code.CHAT_NOT_FOUND:
            raise
        raise TidingsError(Code.MESSAGE_NOT_FOUND, NO_SUCH_MESSAGE) from None


def apply_reaction(seen: Entry, user: UserId, emoji: str, *, is_added: bool, has: bool) -> ReactionChange:
    """Return the row's counts and named users after the change; refuse what would change nothing.

    `has`: the user has reacted with this emoji. Holds only if the user's item still says so at the commit.
    """
    _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
    if is_added == has:
        raise TidingsError(Code.NO_CHANGE, "The reaction is as asked for already.")
    counts, mark = dict(seen.reaction_counts or {}), _mark(emoji, user)
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


def _mark(emoji: str, user: UserId) -> str:
    return f"{emoji} {user}"


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
