"""Messages: send, read, edit, redact, react."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute, UserRequest
from tidings.api.entry_json import entry_response, history_response
from tidings.api.openapi import OF_APPENDS, OF_BODIES, OF_CHANGES, OF_CONTENT_KEYS, route_options
from tidings.api.request_parsing import (
    IdempotencyKeyHeader,
    locate_message,
    optional_idempotency_key,
    required_idempotency_key,
)
from tidings.api.schemas.api_model import ChatInPath, MessageInPath
from tidings.api.schemas.chat_list import MessageStatusResponse
from tidings.api.schemas.messages import (
    EditMessageBody,
    EntryResponse,
    HistoryParams,
    HistoryResponse,
    MessageChangedResponse,
    MessageSentResponse,
    SendMessageBody,
)
from tidings.delivery.model import MessageStatus
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, MessageId
from tidings.messages.edits import ChangeRequest
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.messages.model import EntryKind

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["messages"])

_OF_POSITIONS = (Code.POSITION_AHEAD, Code.POSITION_TOO_OLD)
_OF_CONTENT = (Code.CONTENT_INVALID, Code.CONTENT_TOO_LARGE, Code.MESSAGE_REFUSED, Code.KEYS_UNAVAILABLE)
_OF_MESSAGES = (
    *OF_CHANGES,
    *_OF_POSITIONS,
    Code.MESSAGE_NOT_FOUND,
    Code.BLOCKED,
    Code.CHAT_FROZEN,
    Code.MUTED,
    Code.USER_ERASED,
    Code.KEYS_UNAVAILABLE,
)
_OF_RULES = (Code.BLOCKED, Code.CHAT_FROZEN, Code.MUTED)
_OF_READING = (Code.DECRYPTION_FAILED, Code.KEYS_UNAVAILABLE)

_FOLLOW = (*OF_APPENDS, *OF_CONTENT_KEYS)
_SEND = (
    "messages.append",
    "messages.append_batch",
    "messages.append_keyed",
    "messages.append_ephemeral",
    "messages.append_paced",
    "idempotency.find",
    *_FOLLOW,
)
_ATTACH = ("uploads.read_many", "messages.append_attachments", "messages.append_flagged")
_OF_ATTACHMENTS = (
    Code.MEDIA_NOT_CONFIGURED,
    Code.UPLOAD_NOT_FOUND,
    Code.UPLOAD_INCOMPLETE,
    Code.UPLOAD_ATTACHED,
    Code.UPLOAD_REFUSED,
)
_STATUS = ("chats.check", "memberships.list", "watermarks.read_members")
_CHANGE = ("messages.read_one", "messages.append_change", *_FOLLOW)
_REACT = (*_CHANGE, "messages.read_reaction")

EmojiInPath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=32,
        pattern=r"^[^\s/\x00-\x1f\x7f]+$",
        description="An emoji of at most 32 bytes, without spaces.",
        examples=["👍"],
    ),
]


@router.post(
    "/chats/{chat}/messages",
    **route_options(
        "send_message",
        *OF_BODIES,
        *OF_CHANGES,
        *_OF_POSITIONS,
        *_OF_CONTENT,
        *_OF_ATTACHMENTS,
        *_OF_RULES,
        Code.SLOW_MODE,
        Code.USER_ERASED,
        touches=(*_SEND, *_ATTACH),
        repeat=MessageSentResponse,
        status_code=201,
        summary="Send a message",
    ),
)
async def send_message(
    call: AsUser,
    chat: ChatInPath,
    body: SendMessageBody,
    response: Response,
    key: IdempotencyKeyHeader = None,
) -> MessageSentResponse:
    """Commit a message to a chat and return its sequence.

    A retry with the same `client_message_id` returns the first answer with status 200.
    """
    sent = await call.services.sender.send(
        call.chat(chat),
        call.user,
        required_idempotency_key(key, body.client_message_id),
        body.content(),
        after=body.after,
        content_type=body.content_type,
        ttl_s=body.ttl_seconds,
    )
    if sent.is_repeat:
        response.status_code = 200
    return MessageSentResponse.of(sent)


@router.get(
    "/chats/{chat}/messages",
    **route_options(
        "list_messages",
        *_OF_READING,
        Code.CHAT_NOT_FOUND,
        touches=(
            "memberships.check",
            "messages.read_recent",
            "messages.read_after",
            "messages.read_ephemeral",
            *_STATUS,
            *OF_CONTENT_KEYS,
        ),
        response_model=HistoryResponse,
        summary="List messages",
    ),
)
async def list_messages(call: AsUser, chat: ChatInPath, asked: Annotated[HistoryParams, Query()]) -> Response:
    """List the entries of a chat that the user may read, newest first.

    Without `before`, `after` or `around`, the page has the newest entries. `covered_range` is the range of sequences for
    which the page is complete.
    """
    key = call.chat(chat)
    page = await _page(call, key, asked)
    statuses = await _statuses(call, key, page.entries) if asked.status else {}
    return history_response(key, page, call.user, statuses)


async def _page(call: UserRequest, chat: ChatKey, asked: HistoryParams) -> HistorySlice:
    history = call.services.history
    if asked.after is not None:
        return await history.after(chat, call.user, asked.after, asked.limit)
    if asked.around is not None:
        return await history.around(chat, call.user, asked.around, asked.limit)
    return await history.before(chat, call.user, asked.before, asked.limit)


@router.get(
    "/messages/{message}",
    **route_options(
        "get_message",
        *_OF_READING,
        Code.MESSAGE_NOT_FOUND,
        touches=(
            "memberships.check",
            "messages.read_one",
            "messages.read_ephemeral",
            *_STATUS,
            *OF_CONTENT_KEYS,
        ),
        response_model=EntryResponse,
        summary="Get a message",
    ),
)
async def get_message(call: AsUser, message: MessageInPath) -> Response:
    """Get a message by its id, with its delivery status."""
    chat, sequence = locate_message(call.tenant, message)
    shown = await call.services.history.one(chat, call.user, sequence)
    statuses = await _statuses(call, chat, [shown])
    return entry_response(chat, shown, call.user, statuses.get(sequence))


@router.get(
    "/messages/{message}/status",
    **route_options(
        "get_message_status",
        *_OF_READING,
        Code.MESSAGE_NOT_FOUND,
        touches=(
            "memberships.check",
            "messages.read_one",
            "messages.read_ephemeral",
            *_STATUS,
            *OF_CONTENT_KEYS,
        ),
        summary="Get the delivery status of a message",
    ),
)
async def get_status(call: AsUser, message: MessageInPath) -> MessageStatusResponse:
    """Get the status of a message, with the members who have received and read it."""
    chat, sequence = locate_message(call.tenant, message)
    shown = await call.services.history.one(chat, call.user, sequence)
    statuses = await _statuses(call, chat, [shown])
    if sequence not in statuses:
        raise TidingsError(Code.MESSAGE_NOT_FOUND, "The entry with this id is not a message.")
    return MessageStatusResponse.of(statuses[sequence])


async def _statuses(
    call: UserRequest, chat: ChatKey, shown: Sequence[VisibleEntry]
) -> dict[int, MessageStatus]:
    messages = [each.entry for each in shown if each.entry.kind is EntryKind.MESSAGE]
    found = await call.services.statuses.of(chat, call.user, messages)
    return {status.sequence: status for status in found}


@router.patch(
    "/messages/{message}",
    **route_options(
        "edit_message",
        *OF_BODIES,
        *_OF_MESSAGES,
        *_OF_CONTENT,
        touches=(*_CHANGE, "messages.append_flagged"),
        summary="Edit a message",
    ),
)
async def edit_message(
    call: AsUser, message: MessageInPath, body: EditMessageBody, key: IdempotencyKeyHeader = None
) -> MessageChangedResponse:
    """Replace the whole content of a message. Only its sender can edit it."""
    change = _change_request(call, message, optional_idempotency_key(key, body.client_message_id), body.after)
    return MessageChangedResponse(sequence=(await call.services.change.edit(change, body.content())).sequence)


@router.delete(
    "/messages/{message}",
    **route_options(
        "redact_message",
        *_OF_MESSAGES,
        Code.NO_CHANGE,
        touches=(*_CHANGE, "messages.redact_attachments"),
        summary="Redact a message",
    ),
)
async def redact_message(
    call: AsUser, message: MessageInPath, key: IdempotencyKeyHeader = None
) -> MessageChangedResponse:
    """Delete the content of a message for all members. The entry and its sequence remain in the log."""
    change = _change_request(call, message, optional_idempotency_key(key))
    return MessageChangedResponse(sequence=(await call.services.change.redact(change)).sequence)


@router.put(
    "/messages/{message}/reactions/{emoji}",
    **route_options("add_reaction", *_OF_MESSAGES, Code.NO_CHANGE, touches=_REACT, summary="Add a reaction"),
)
async def add_reaction(
    call: AsUser, message: MessageInPath, emoji: EmojiInPath, key: IdempotencyKeyHeader = None
) -> MessageChangedResponse:
    """Add the user's reaction to a message."""
    change = _change_request(call, message, optional_idempotency_key(key))
    return MessageChangedResponse(sequence=(await call.services.change.react(change, emoji)).sequence)


@router.delete(
    "/messages/{message}/reactions/{emoji}",
    **route_options(
        "remove_reaction", *_OF_MESSAGES, Code.NO_CHANGE, touches=_REACT, summary="Remove a reaction"
    ),
)
async def remove_reaction(
    call: AsUser, message: MessageInPath, emoji: EmojiInPath, key: IdempotencyKeyHeader = None
) -> MessageChangedResponse:
    """Remove the user's reaction from a message."""
    change = _change_request(call, message, optional_idempotency_key(key))
    done = await call.services.change.react(change, emoji, is_added=False)
    return MessageChangedResponse(sequence=done.sequence)


def _change_request(
    call: UserRequest, message: MessageId, key: ClientKey, after: int | None = None
) -> ChangeRequest:
    chat, sequence = locate_message(call.tenant, message)
    return ChangeRequest(chat, call.user, key, sequence, after)
