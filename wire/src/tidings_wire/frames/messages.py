"""What changes a log: messages, edits, redactions, reactions. Each is answered when it is committed, never before."""

from tidings_wire.fields import (
    ChatName,
    ClientMessageId,
    ContentType,
    Data,
    Emoji,
    Mentions,
    Position,
    Sequence,
    SequenceOut,
    Text,
    TtlSeconds,
)
from tidings_wire.frames.structs import RequestBody, ResponseBody


class IdempotentRequest(RequestBody, frozen=True, kw_only=True):
    """`client_message_id` is the same for every try, and so is `after`: what the device held when it first tried.

    Without `after` the key alone makes a repeat a repeat, at a higher price; all tries use the same form.
    """

    chat: ChatName
    client_message_id: ClientMessageId
    after: Position | None = None


class Send(IdempotentRequest, frozen=True, kw_only=True):
    """A message: a text or data, or both; 4 KB in all."""

    text: Text = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: Mentions = ()
    content_type: ContentType | None = None
    ttl_seconds: TtlSeconds | None = None


class Edit(IdempotentRequest, frozen=True, kw_only=True):
    """The message at `sequence` gets this content instead."""

    sequence: Sequence
    text: Text = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: Mentions = ()


class Redact(IdempotentRequest, frozen=True, kw_only=True):
    """The message at `sequence` is emptied, for good."""

    sequence: Sequence


class React(IdempotentRequest, frozen=True, kw_only=True):
    """A reaction to the message at `sequence`; `is_removed` takes an earlier one back."""

    sequence: Sequence
    emoji: Emoji
    is_removed: bool = False


class CommitResult(ResponseBody, frozen=True, kw_only=True):
    """Committed, at this sequence. The same for every try."""

    sequence: SequenceOut
    is_repeat: bool = False
