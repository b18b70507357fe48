"""Messages of a chat by time, the trace of a message, and its content with a reason."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from tidings.accounts.rules import check_user_id
from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, ChatInPath, TenantInPath, Time
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, message_id
from tidings.messages.model import Entry
from tidings.operators.model import Role
from tidings.trace.timeline import timeline_of

router = APIRouter(prefix="/admin/v1/tenants/{tenant}", route_class=ConsoleRoute, tags=["support"])


class MessagesParams(ApiModel):
    at: Annotated[str, Query(max_length=40)] | None = None
    limit: Annotated[int, Query(ge=1, le=200, strict=False)] = 50

    @property
    def at_ms(self) -> int | None:
        if self.at is None:
            return None
        try:
            at = datetime.fromisoformat(self.at)
        except ValueError:
            raise TidingsError(Code.REQUEST_INVALID, "`at` is a time such as 2026-11-15T14:05:00Z.") from None
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


class MessageMetadata(ApiModel):
    message: str
    committed_at: Time
    kind: str
    sender: str
    refers_to: str | None = None
    edited_at: Time | None = None
    redacted_at: Time | None = None

    @classmethod
    def of(cls, chat: ChatId, entry: Entry) -> "MessageMetadata":
        return cls(
            message=message_id(chat, entry.sequence),
            committed_at=format_ms(entry.created_at_ms),
            kind=entry.kind.value,
            sender=entry.sender,
            refers_to=None if entry.refers_to is None else message_id(chat, entry.refers_to),
            edited_at=format_ms_or_none(entry.edited_at_ms),
            redacted_at=format_ms_or_none(entry.redacted_at_ms),
        )


class MessagesMetadataResponse(ApiModel):
    """Oldest first, without content."""

    messages: list[MessageMetadata]
    has_earlier: bool
    has_later: bool


class MessageContentResponse(ApiModel):
    """`state` says why there is no content: redacted, expired or erased."""

    message: str
    state: str
    content: dict[str, Any] | None = None


@router.get("/chats/{chat}/messages", **allow("list_messages", Role.SUPPORT, is_recorded=False))
async def list_messages(
    call: AsOperator, tenant: TenantInPath, chat: ChatInPath, asked: Annotated[MessagesParams, Query()]
) -> MessagesMetadataResponse:
    """List senders and times of messages around a time, or the newest."""
    finder = call.context.services.support.messages
    found = await finder.find_around(ChatKey(tenant, chat), asked.at_ms, asked.limit)
    return MessagesMetadataResponse(
        messages=[MessageMetadata.of(chat, entry) for entry in found.entries],
        has_earlier=found.has_earlier,
        has_later=found.has_later,
    )


@router.post(
    "/chats/{chat}/messages/{sequence}/content",
    **allow("read_content", Role.SUPPORT, needs_reason=True, is_recorded=True),
)
async def read_content(
    call: AsOperator, tenant: TenantInPath, chat: ChatInPath, sequence: Annotated[int, Path(ge=1)]
) -> MessageContentResponse:
    """Read the content of one message. The audit log keeps the operator, the message and the reason."""
    found = await call.context.services.support.history.now(ChatKey(tenant, chat), [sequence])
    if sequence not in found:
        raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message.")
    shown = found[sequence]
    note_change(None, {"read": message_id(chat, sequence)})
    content = None if shown.content is None else msgspec.to_builtins(shown.content)
    return MessageContentResponse(
        message=message_id(chat, sequence), state=shown.state.value, content=content
    )


@router.get("/messages/{message}/trace", **allow("trace_message", Role.SUPPORT, is_recorded=False))
async def trace_message(
    call: AsOperator, tenant: TenantInPath, message: str, user: Annotated[list[str] | None, Query()] = None
) -> Response:
    """Trace a message from its commit to each device, with the reason of every stop."""
    users = [check_user_id(each) for each in user or []]
    trace = await call.context.services.support.trace(tenant, message, users)
    body = msgspec.to_builtins(trace) | {"timeline": msgspec.to_builtins(timeline_of(trace))}
    return Response(msgspec.json.encode(body), media_type="application/json")
