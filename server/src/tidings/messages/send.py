"""The flow "send", from a caller who is known to be who he says, to the committed entry."""

from typing import NamedTuple

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, MessageId, UserId, message_id
from tidings.messages import content as contents
from tidings.messages.append import Appender
from tidings.messages.content import Content
from tidings.messages.model import (
    Draft,
    EntryKind,
    IdempotencyKey,
    PermissionCheck,
    Proposal,
    SideWrites,
    SideWritesFactory,
)
from tidings.messages.ports import EditWriter, Keys, TenantKeys

MAX_TTL_S = 365 * 24 * 3600


class SendResult(NamedTuple):
    """The ack: committed, at this sequence. The same for every try of the message."""

    message_id: MessageId
    sequence: int
    is_repeat: bool


class MessageSender[S]:
    """`may_send` says of a sender's standing why not; the permissions are the chats' own."""

    def __init__(
        self,
        appends: Appender[S],
        changes: EditWriter,
        *,
        keys: Keys,
        may_send: PermissionCheck[S],
        clock: Clock,
    ) -> None:
        self._appends = appends
        self._changes = changes
        self._keys = keys
        self._may_send = may_send
        self._clock = clock

    async def __call__(
        self,
        chat: ChatKey,
        sender: UserId,
        client_key: ClientKey,
        content: Content,
        *,
        after: int | None = None,
        content_type: str | None = None,
        ttl_s: int | None = None,
    ) -> SendResult:
        """`after`: what the client held when it first tried; None for a client that keeps no position.

        `ttl_s`: nobody sees the content after that many seconds. The entry itself stays.
        """
        body = contents.encode_content(content)
        keys = await self._keys.of(chat.tenant)
        said = contents.fingerprint_input(
            chat, IdempotencyKey(sender, client_key), EntryKind.MESSAGE, body, ttl_s=ttl_s
        )
        draft = Draft(
            kind=EntryKind.MESSAGE,
            sender=sender,
            client_key=client_key,
            fingerprint=keys.fingerprint(said),
            body=None if ttl_s else body,
            content_type=content_type,
            visible_until_ms=None if ttl_s is None else self._clock.now_ms() + limit_ttl(ttl_s) * 1000,
        )
        proposal = Proposal(draft, self._may_send, after, keys.seal)
        beside_at = None if ttl_s is None else self._apart(chat, draft, body, keys)
        done = await self._appends.append(chat, proposal, beside_at)
        return SendResult(message_id(chat.chat, done.sequence), done.sequence, done.is_repeat)

    def _apart(self, chat: ChatKey, draft: Draft, body: bytes, keys: TenantKeys) -> SideWritesFactory:
        def beside_at(sequence: int) -> SideWrites:
            return self._changes.ephemeral(chat, sequence, keys.seal(chat, sequence, body), draft)

        return beside_at


def limit_ttl(ttl_s: int) -> int:
    if not 1 <= ttl_s <= MAX_TTL_S:
        raise TidingsError(Code.REQUEST_INVALID, f"`ttl_seconds` is 1 to {MAX_TTL_S}.")
    return ttl_s
