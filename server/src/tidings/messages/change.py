"""Edits, redactions and reactions: each an entry that refers to a message and changes its row in one transaction.

The entry has no content of its own, so nothing outlives a redaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.kernel.tries import on_what_is_there
from tidings.messages import content as contents
from tidings.messages.append import Appends
from tidings.messages.content import Content
from tidings.messages.model import Appended, Beside, Check, Draft, Entry, Kind, Proposal, Reacted, SendKey
from tidings.messages.ports import Changes, Keys, Reactions, Reader

NO_SUCH_MESSAGE = "There is no such message."
MAX_EMOJI_BYTES = 32
MAX_EMOJI = 20
USERS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks what of which message, under which key."""

    chat: ChatKey
    user: UserId
    client_key: ClientKey
    sequence: int
    after: int | None = None

    def said(self, kind: Kind, body: bytes) -> bytes:
        return contents.said(self.chat, SendKey(self.user, self.client_key), kind, body, about=self.sequence)


@dataclass(frozen=True, slots=True)
class Permits[S]:
    """The chats' own permissions, one for each thing that can be done to a message."""

    edit_own: Check[S]
    redact_own: Check[S]
    redact_others: Check[S]
    react: Check[S]


class Change[S]:
    def __init__(
        self,
        appends: Appends[S],
        reader: Reader,
        changes: Changes,
        reactions: Reactions,
        *,
        keys: Keys,
        permits: Permits[S],
        clock: Clock,
    ) -> None:
        self._appends = appends
        self._reader = reader
        self._changes = changes
        self._reactions = reactions
        self._keys = keys
        self._permits = permits
        self._clock = clock

    async def edit(self, asked: Asked, content: Content) -> Appended:
        """By its sender only. The content is sealed for the message's own place."""
        body = contents.encode(content)
        keys = await self._keys.of(asked.chat.tenant)
        fingerprint = keys.fingerprint(asked.said(Kind.EDIT, body))

        def beside(seen: Entry, _: bool) -> Beside:  # noqa: FBT001
            _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
            sealed = keys.seal(asked.chat, seen.sequence, body)
            return self._changes.edit(asked.chat, seen, sealed, self._clock.now_ms())

        def permit(seen: Entry) -> Check[S]:
            if seen.sender != asked.user:
                return self._edit_others
            if seen.visible_until_ms is not None:
                raise TidingsError(Code.REQUEST_INVALID, "A message that expires is not edited.")
            return self._permits.edit_own

        return await self._change(asked, _draft(asked, Kind.EDIT, fingerprint), permit, beside)

    async def redact(self, asked: Asked) -> Appended:
        keys = await self._keys.of(asked.chat.tenant)
        fingerprint = keys.fingerprint(asked.said(Kind.REDACTION, b""))

        def permit(seen: Entry) -> Check[S]:
            is_own = seen.sender == asked.user
            return self._permits.redact_own if is_own else self._permits.redact_others

        def beside(seen: Entry, _: bool) -> Beside:  # noqa: FBT001
            _refuse_redacted(seen, Code.NOTHING_TO_CHANGE)
            return self._changes.redaction(asked.chat, seen, self._clock.now_ms())

        return await self._change(asked, _draft(asked, Kind.REDACTION, fingerprint), permit, beside)

    async def react(self, asked: Asked, emoji: str, *, is_added: bool = True) -> Appended:
        if not 0 < len(emoji.encode()) <= MAX_EMOJI_BYTES:
            raise TidingsError(Code.REQUEST_INVALID, f"An emoji has 1 to {MAX_EMOJI_BYTES} bytes.")
        keys = await self._keys.of(asked.chat.tenant)
        said = f"{'+' if is_added else '-'}{emoji}"
        fingerprint = keys.fingerprint(asked.said(Kind.REACTION, said.encode()))

        def beside(seen: Entry, has: bool) -> Beside:  # noqa: FBT001 - called by `_change` alone
            change = reacted(seen, asked.user, emoji, is_added=is_added, has=has)
            return self._changes.reaction(asked.chat, seen, change, self._clock.now_ms())

        draft = _draft(asked, Kind.REACTION, fingerprint, emoji=said)
        return await self._change(asked, draft, lambda _: self._permits.react, beside, emoji=emoji)

    async def _has_reacted(self, asked: Asked, seen: Entry, emoji: str) -> bool:
        """Ask for the user's own item only if the row does not tell: it names everybody, or it names them."""
        if _mark(emoji, asked.user) in seen.reaction_users:
            return True
        if sum((seen.reaction_counts or {}).values()) == len(seen.reaction_users):
            return False
        return await self._reactions.has(asked.chat, seen.sequence, asked.user, emoji)

    async def _change(
        self,
        asked: Asked,
        draft: Draft,
        permit: Callable[[Entry], Check[S]],
        beside: Callable[[Entry, bool], Beside],
        *,
        emoji: str | None = None,
    ) -> Appended:
        """Append the change and its writes, prepared on rows as they are now, again if these change meanwhile."""

        async def once() -> Appended:
            seen = await self._message(asked)
            proposal = Proposal(draft, permit(seen), asked.after)
            has = emoji is not None and await self._has_reacted(asked, seen, emoji)
            with _as_if_not_there():
                return await self._appends.append(asked.chat, proposal, lambda _: beside(seen, has))

        return await on_what_is_there(once)

    async def _message(self, asked: Asked) -> Entry:
        seen = await self._reader.one(asked.chat, asked.sequence)
        if seen is None or seen.kind is not Kind.MESSAGE:
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


def reacted(seen: Entry, user: UserId, emoji: str, *, is_added: bool, has: bool) -> Reacted:
    """Return the row's counts and named users after the change; refuse what would change nothing.

    `has`: the user has reacted with this emoji. Holds only if the user's item still says so at the commit.
    """
    _refuse_redacted(seen, Code.MESSAGE_NOT_FOUND)
    if is_added == has:
        raise TidingsError(Code.NOTHING_TO_CHANGE, "The reaction is as asked for already.")
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
    return Reacted(user, emoji, is_added, counts, users)


def _mark(emoji: str, user: UserId) -> str:
    return f"{emoji} {user}"


def _refuse_redacted(seen: Entry, code: Code) -> None:
    if seen.redacted_at_ms is not None:
        raise TidingsError(code, "The message has been redacted.")


def _draft(asked: Asked, kind: Kind, fingerprint: bytes, *, emoji: str | None = None) -> Draft:
    return Draft(
        kind=kind,
        sender=asked.user,
        client_key=asked.client_key,
        fingerprint=fingerprint,
        refers_to=asked.sequence,
        emoji=emoji,
    )
