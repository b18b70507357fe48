"""What a message says, as bytes: bounded, the same bytes for the same words, so that a repeat is recognised."""

from collections import OrderedDict
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, MessageId, UserId, message_id
from tidings.messages.append_queue import AppendDeps, AppendQueue
from tidings.messages.model import (
    Appended,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    LogCreated,
    PermissionCheck,
    Proposal,
    SideWrites,
    SideWritesFactory,
)
from tidings.messages.past_keys import PastKeys
from tidings.messages.ports import COMMITTED, EditWriter, Keys, PositionTaken, TenantKeys
from tidings.messages.rules import make_entry

MAX_CONTENT_BYTES = 4096
MAX_MENTIONS = 50
MAX_DATA_DEPTH = 8

_encode = msgspec.json.Encoder(order="sorted").encode


class Content(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`data` is the app's own; `reply_to` is the sequence of a message in the same chat."""

    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: Annotated[int, Meta(ge=1)] | None = None
    mentions: Annotated[tuple[UserId, ...], Meta(max_length=MAX_MENTIONS)] = ()


_decode = msgspec.json.Decoder(Content).decode


def encode_content(content: Content) -> bytes:
    """Raises `content_too_large` past 4 KB, `content_invalid` for what is nested too deep or says nothing."""
    if not content.text and content.data is None:
        raise TidingsError(Code.CONTENT_INVALID, "A message has a text or data, or both.")
    if content.data is not None and _depth(content.data) > MAX_DATA_DEPTH:
        raise TidingsError(Code.CONTENT_INVALID, f"`data` is nested more than {MAX_DATA_DEPTH} deep.")
    body = _encode(content)
    if len(body) > MAX_CONTENT_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE,
            f"The content is {len(body)} bytes; {MAX_CONTENT_BYTES} are allowed.",
            hint="Keep files elsewhere and send a link in `data`.",
        )
    return body


def decode_content(body: bytes) -> Content:
    return _decode(body)


def fingerprint_input(
    chat: ChatKey,
    key: IdempotencyKey,
    kind: EntryKind,
    body: bytes,
    *,
    about: int | None = None,
    ttl_s: int | None = None,
) -> bytes:
    """Everything that makes two tries the same message or not.

    Chat, sender and key are in it so that equal words elsewhere have another fingerprint: whoever sees the table
    does not learn who said the same.
    """
    head = f"{chat.tenant}#{chat.chat}#{key.sender}#{key.client_key}#{kind}#{about or 0}#{ttl_s or 0}#"
    return head.encode() + body


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


MAX_IDLE_QUEUES = 50_000
MAX_CACHED_WEIGHT = 400_000
"""Keys and standings of all lanes together, some 300 bytes each."""


class Appender[S]:
    def __init__(
        self, deps: AppendDeps[S], lanes_kept: int = MAX_IDLE_QUEUES, weight_kept: int = MAX_CACHED_WEIGHT
    ) -> None:
        self._deps = deps
        self._past = PastKeys(deps.log, deps.clock)
        self.weight = 0
        self._max_cached_weight = weight_kept
        self._queues: OrderedDict[ChatKey, AppendQueue[S]] = OrderedDict()
        self._max_idle_queues = lanes_kept

    async def append(
        self, chat: ChatKey, proposal: Proposal[S], beside_at: SideWritesFactory | None = None
    ) -> Appended:
        """Answers once the entry is committed, with the first answer if it was before; raises if it may not be."""
        queue = self._queue(chat)
        try:
            return await queue.append(proposal, beside_at)
        finally:
            self._weigh(queue)
            self._past.evict_old()

    async def begin(self, chat: ChatKey, draft: Draft, side_writes: SideWrites) -> LogCreated:
        """The first entry of a log, with the rows of the chat. One that was begun already says by what."""
        world = self._deps
        entry = make_entry(draft, 1, 0, now_ms=world.clock.now_ms(), content=None, epoch=world.epoch())
        outcome = await world.log.append(chat, [entry], side_writes)
        if outcome == COMMITTED:
            queue = self._queue(chat)
            queue.begin(entry)
            self._weigh(queue)
            if world.on_commit is not None:
                world.on_commit(chat, [entry])
            return LogCreated(entry, is_new=True)
        first = outcome.entry if isinstance(outcome, PositionTaken) else None
        return LogCreated(first, is_new=False)

    def observe(self, chat: ChatKey, entry: Entry) -> None:
        """Events and pushes that pass through this process keep views warm. They may come late, twice or not."""
        queue = self._queues.get(chat)
        if queue is not None:
            queue.observe(entry)
            self._weigh(queue)

    def _queue(self, chat: ChatKey) -> AppendQueue[S]:
        queue = self._queues.get(chat)
        if queue is None:
            # before the new lane is there: idle until its caller uses it, it would be forgotten first
            self._evict_idle()
            queue = self._queues[chat] = AppendQueue(chat, self._deps, self._past)
        else:
            self._queues.move_to_end(chat)
        return queue

    def _weigh(self, queue: AppendQueue[S]) -> None:
        """Count what the lane holds now. One that was forgotten meanwhile does not count any more."""
        if self._queues.get(queue.chat) is queue:
            self.weight += queue.weight - queue.counted
            queue.counted = queue.weight
            self._evict_idle()

    def _evict_idle(self) -> None:
        """Never forget a lane in use: a second one of the same chat would append beside it."""
        while len(self._queues) > self._max_idle_queues or self.weight > self._max_cached_weight:
            idle = next((queue for queue in self._queues.values() if queue.is_idle), None)
            if idle is None:
                return
            self.weight -= idle.counted
            del self._queues[idle.chat]


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

    async def send(
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
        body = encode_content(content)
        keys = await self._keys.of(chat.tenant)
        said = fingerprint_input(
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
