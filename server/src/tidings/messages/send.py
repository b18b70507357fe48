"""The flow "send", from a caller who is known to be who he says, to the committed entry."""

from typing import NamedTuple

from tidings.kernel.ids import ChatKey, ClientKey, MessageId, UserId, message_id
from tidings.messages import content as contents
from tidings.messages.append import Appends
from tidings.messages.content import Content
from tidings.messages.model import Check, Draft, Kind, Proposal
from tidings.messages.ports import Keys


class Sent(NamedTuple):
    """The ack: committed, at this sequence. The same for every try of the message."""

    message_id: MessageId
    sequence: int
    is_repeat: bool


class Send[S]:
    """`may_send` says of a sender's standing why not; the permissions are the chats' own."""

    def __init__(self, appends: Appends[S], keys: Keys, may_send: Check[S]) -> None:
        self._appends = appends
        self._keys = keys
        self._may_send = may_send

    async def __call__(
        self,
        chat: ChatKey,
        sender: UserId,
        client_key: ClientKey,
        content: Content,
        *,
        after: int | None = None,
        content_type: str | None = None,
    ) -> Sent:
        """`after`: what the client held when it first tried; None for a client that keeps no position."""
        body = contents.encode(content)
        keys = await self._keys.of(chat.tenant)
        draft = Draft(
            kind=Kind.MESSAGE,
            sender=sender,
            client_key=client_key,
            fingerprint=keys.fingerprint(contents.said(Kind.MESSAGE, body)),
            body=body,
            content_type=content_type,
        )
        done = await self._appends.append(chat, Proposal(draft, self._may_send, after, keys.seal))
        return Sent(message_id(chat.chat, done.sequence), done.sequence, done.is_repeat)
