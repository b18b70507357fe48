"""Send a message: validate and encode its content, then append it to the chat's log."""

from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, MessageId, UserId, message_id
from tidings.messages.append_queue import AppendQueue
from tidings.messages.content_review import ContentReview, review_content
from tidings.messages.model import (
    UPLOAD_ID,
    Appended,
    Draft,
    Entry,
    EntryKind,
    IdempotencyKey,
    LogCreated,
    PermissionCheck,
    Proposal,
    ReviewRequest,
    RulesCheck,
    SideWrites,
    SideWritesExtension,
    SideWritesFactory,
)
from tidings.messages.past_keys import PastKeys
from tidings.messages.ports import (
    COMMITTED,
    AppendDeps,
    AttachmentCheck,
    AuthorKey,
    BeforeSend,
    EditStore,
    KeyProvider,
    PositionTaken,
)
from tidings.messages.rules import make_entry
from tidings.schema.tables.limits import MAX_ATTACHMENTS

MAX_CONTENT_BYTES = 4096
MAX_MENTIONS = 50
MAX_DATA_DEPTH = 8
MAX_TTL_S = 365 * 24 * 3600
MAX_IDLE_QUEUES = 50_000
MAX_CACHED_WEIGHT = 400_000
"""Cached keys and member statuses of all append queues together; about 300 bytes each."""

# Sorted keys: equal content gives equal bytes, so that a retry has the same fingerprint.
_encode = msgspec.json.Encoder(order="sorted").encode


class Content(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`data` belongs to the application; `reply_to` is the sequence of a message in the same chat.

    `attachments` are ids of uploads. The entry has them too; an edit does not change them.
    """

    text: str = ""
    data: dict[str, Any] | None = None
    reply_to: Annotated[int, Meta(ge=1)] | None = None
    mentions: Annotated[tuple[UserId, ...], Meta(max_length=MAX_MENTIONS)] = ()
    attachments: Annotated[
        tuple[Annotated[str, Meta(pattern=UPLOAD_ID)], ...], Meta(max_length=MAX_ATTACHMENTS)
    ] = ()


_decode = msgspec.json.Decoder(Content).decode


def encode_content(content: Content) -> bytes:
    """Encode content. Raises `content_too_large` above 4 KB, `content_invalid` if it is empty or nested too deep."""
    if not content.text and content.data is None and not content.attachments:
        raise TidingsError(Code.CONTENT_INVALID, "A message needs `text`, `data` or `attachments`.")
    if len(set(content.attachments)) < len(content.attachments):
        raise TidingsError(Code.CONTENT_INVALID, "`attachments` contains an upload twice.")
    if content.data is not None and _depth(content.data) > MAX_DATA_DEPTH:
        raise TidingsError(Code.CONTENT_INVALID, f"`data` is nested more than {MAX_DATA_DEPTH} deep.")
    body = _encode(content)
    if len(body) > MAX_CONTENT_BYTES:
        raise TidingsError(
            Code.CONTENT_TOO_LARGE,
            f"The content is {len(body)} bytes; {MAX_CONTENT_BYTES} are allowed.",
            hint="Send files as attachments.",
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
    """Return the bytes by which a retry is compared with the first attempt.

    They include chat, sender and key, so that equal content elsewhere has another fingerprint: a reader of the table
    cannot find messages with equal content.
    """
    head = f"{chat.tenant}#{chat.chat}#{key.sender}#{key.client_key}#{kind}#{about or 0}#{ttl_s or 0}#"
    return head.encode() + body


def preview_of(body: bytes) -> str:
    return preview_text(decode_content(body))


def preview_text(content: Content) -> str:
    """Return what chat lists and notifications show: the text, or the name of the first file and the number of the others.

    The names are those in `data.attachments`. SDKs have the same rule for messages that they receive.
    """
    if content.text or not content.attachments:
        return content.text
    described = (content.data or {}).get("attachments")
    first = described.get(content.attachments[0]) if isinstance(described, dict) else None
    name = first.get("name") if isinstance(first, dict) else None
    more = len(content.attachments) - 1
    parts = ["📎", *([name] if isinstance(name, str) and name else []), *([f"+{more}"] if more else [])]
    return " ".join(parts)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


class Appender[S]:
    """The append queues of a process, by chat."""

    def __init__(
        self, deps: AppendDeps[S], max_idle: int = MAX_IDLE_QUEUES, max_weight: int = MAX_CACHED_WEIGHT
    ) -> None:
        self._deps = deps
        self._past = PastKeys(deps.log, deps.clock)
        self.weight = 0
        self._max_cached_weight = max_weight
        self._queues: OrderedDict[ChatKey, AppendQueue[S]] = OrderedDict()
        self._max_idle_queues = max_idle

    async def append(
        self, chat: ChatKey, proposal: Proposal[S], side_writes_at: SideWritesFactory | None = None
    ) -> Appended:
        """Append a proposal and return after its commit. A retry returns the first result.

        Raises the reason of a refusal, `overloaded` if nothing was applied, or `outcome_unknown`: then retry.
        """
        queue = self._queue(chat)
        try:
            return await queue.append(proposal, side_writes_at)
        finally:
            self._update_weight(queue)
            self._past.evict_old()

    async def begin(self, chat: ChatKey, draft: Draft, side_writes: SideWrites) -> LogCreated:
        """Write the first entry of a log together with the chat's rows. Idempotent."""
        deps = self._deps
        entry = make_entry(draft, 1, 0, now_ms=deps.clock.now_ms(), content=None, epoch=deps.epoch())
        outcome = await deps.log.append(chat, [entry], side_writes)
        if outcome == COMMITTED:
            queue = self._queue(chat)
            queue.begin(entry)
            self._update_weight(queue)
            if deps.on_commit is not None:
                deps.on_commit(chat, [entry])
            return LogCreated(entry, is_new=True)
        first = outcome.entry if isinstance(outcome, PositionTaken) else None
        return LogCreated(first, is_new=False)

    def observe(self, chat: ChatKey, entry: Entry) -> None:
        """Advance a view by a received entry. Entries may arrive late, twice or never."""
        queue = self._queues.get(chat)
        if queue is not None:
            queue.observe(entry)
            self._update_weight(queue)

    def _queue(self, chat: ChatKey) -> AppendQueue[S]:
        queue = self._queues.get(chat)
        if queue is None:
            # Evict before adding: the new queue is idle until its caller uses it and could be evicted itself.
            self._evict_idle()
            queue = self._queues[chat] = AppendQueue(chat, self._deps, self._past)
        else:
            self._queues.move_to_end(chat)
        return queue

    def _update_weight(self, queue: AppendQueue[S]) -> None:
        """Update the total weight. A queue that was evicted meanwhile no longer counts."""
        if self._queues.get(queue.chat) is queue:
            self.weight += queue.weight - queue.counted
            queue.counted = queue.weight
            self._evict_idle()

    def _evict_idle(self) -> None:
        """Evict idle queues above the limits, least recently used first."""
        # Race: a queue has an append in flight and a new sender of the chat arrives. If the queue was evicted, the
        # sender would create a second one, and the two would compete for the same sequence within one process.
        while len(self._queues) > self._max_idle_queues or self.weight > self._max_cached_weight:
            idle = next((queue for queue in self._queues.values() if queue.is_idle), None)
            if idle is None:
                return
            self.weight -= idle.counted
            del self._queues[idle.chat]


class SendResult(NamedTuple):
    """The ack: committed at this sequence. All attempts of a message return the same."""

    message_id: MessageId
    sequence: int
    is_repeat: bool


class MessageSender[S]:
    """`may_send` and `obeys` are the checks of the chats folder for the action "send"."""

    def __init__(
        self,
        appends: Appender[S],
        edits: EditStore,
        *,
        keys: KeyProvider,
        may_send: PermissionCheck[S],
        clock: Clock,
        obeys: RulesCheck[S] | None = None,
        before_send: BeforeSend | None = None,
        attachments: AttachmentCheck | None = None,
    ) -> None:
        self._before_send = before_send
        self._attachments = attachments
        self._appends = appends
        self._edits = edits
        self._keys = keys
        self._may_send = may_send
        self._obeys = obeys
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
        """Append a message and return after its commit. Idempotent for seven days by sender and `client_key`.

        `after`: the client's position at the first attempt; None for a client without a position. `ttl_s`: the
        content is hidden after this time; the entry itself is permanent. Raises as `Appender.append` does.
        """
        body = encode_content(content)
        review = await review_content(
            self._before_send, ReviewRequest(chat, sender, client_key, EntryKind.MESSAGE, body)
        )
        keys = await self._keys.of(chat.tenant, sender)
        key = IdempotencyKey(sender, client_key)
        # The fingerprint is that of the content as it was sent: a retry has the same, whatever the hook changes.
        draft = Draft(
            kind=EntryKind.MESSAGE,
            sender=sender,
            client_key=client_key,
            fingerprint=keys.fingerprint(fingerprint_input(chat, key, EntryKind.MESSAGE, body, ttl_s=ttl_s)),
            body=None if ttl_s else review.body,
            content_type=content_type,
            visible_until_ms=None if ttl_s is None else self._clock.now_ms() + limit_ttl(ttl_s) * 1000,
            attachments=content.attachments,
        )
        proposal = Proposal(
            draft, review.permit(self._may_send), after, keys.seal, self._obeys, self._paced(chat, sender)
        )
        with review.explained():
            appended = await self._append(chat, proposal, review, keys)
        return SendResult(message_id(chat.chat, appended.sequence), appended.sequence, appended.is_repeat)

    def _paced(self, chat: ChatKey, sender: UserId) -> SideWritesExtension | None:
        return None if self._obeys is None else partial(self._edits.paced, chat, sender)

    async def _append(
        self, chat: ChatKey, proposal: Proposal[S], review: ContentReview, keys: AuthorKey
    ) -> Appended:
        draft = proposal.draft
        is_ephemeral = draft.visible_until_ms is not None

        def side_writes_at(sequence: int) -> SideWrites:
            content = keys.seal(chat, sequence, review.body) if is_ephemeral else None
            writes: SideWrites | None = None
            if draft.attachments:
                writes = self._edits.attach(chat, sequence, draft, content)
            elif content is not None:
                writes = self._edits.ephemeral(chat, sequence, content, draft)
            if not review.is_flagged:
                return writes
            return self._edits.flagged(chat, sequence, draft.sender, writes, self._clock.now_ms())

        if not draft.attachments:
            has_writes = is_ephemeral or review.is_flagged
            return await self._appends.append(chat, proposal, side_writes_at if has_writes else None)

        # Race: two messages attach one upload, or the owner deletes it, between the check and the commit. The condition
        # of the upload's row fails, nothing is written, and the check runs again and says why.
        async def once() -> Appended:
            permitted = replace(proposal, may=await self._permit_attachments(chat, proposal))
            return await self._appends.append(chat, permitted, side_writes_at)

        return await retry_on_conflict(once)

    async def _permit_attachments(self, chat: ChatKey, proposal: Proposal[S]) -> PermissionCheck[S]:
        """Return a permission check that refuses uploads which cannot be attached, as `ContentReview.permit` does."""
        if self._attachments is None:
            raise TidingsError(Code.MEDIA_NOT_CONFIGURED, "This installation has no attachments.")
        draft = proposal.draft
        code = await self._attachments.check(chat, draft.sender, draft.client_key, draft.attachments)
        if code is None:
            return proposal.may

        def refuse(status: S, after: int | None, /) -> Code | None:
            return proposal.may(status, after) or code

        return refuse


def limit_ttl(ttl_s: int) -> int:
    if not 1 <= ttl_s <= MAX_TTL_S:
        raise TidingsError(Code.REQUEST_INVALID, f"`ttl_seconds` is {ttl_s}; allowed are 1 to {MAX_TTL_S}.")
    return ttl_s
