"""Requests that append to a log: messages, edits, redactions, reactions. Each is answered after its commit."""

from tidings_wire.fields import (
    Attachments,
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
    """A request with an idempotency key. Every retry has the same `client_message_id` and the same `after`.

    `after` is the device's position at the first try. Without it the server detects a repeat by the key alone, at a
    higher cost. Retries must not add or drop `after`.
    """

    chat: ChatName
    client_message_id: ClientMessageId
    after: Position | None = None


class Send(IdempotentRequest, frozen=True, kw_only=True):
    """Send a message with a text, data, attachments or several of them, at most 4 KB in total.

    `attachments`: ids of complete uploads.
    """

    text: Text = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: Mentions = ()
    attachments: Attachments = ()
    content_type: ContentType | None = None
    ttl_seconds: TtlSeconds | None = None


class Edit(IdempotentRequest, frozen=True, kw_only=True):
    """Replace the content of the message at `sequence`."""

    sequence: Sequence
    text: Text = ""
    data: Data | None = None
    reply_to: Sequence | None = None
    mentions: Mentions = ()


class Redact(IdempotentRequest, frozen=True, kw_only=True):
    """Delete the content of the message at `sequence` permanently."""

    sequence: Sequence


class React(IdempotentRequest, frozen=True, kw_only=True):
    """React to the message at `sequence`. `is_removed` removes an earlier reaction."""

    sequence: Sequence
    emoji: Emoji
    is_removed: bool = False


class CommitResult(ResponseBody, frozen=True, kw_only=True):
    """The sequence at which the request was committed. It is the same for every retry."""

    sequence: SequenceOut
    is_repeat: bool = False
