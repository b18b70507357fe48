"""The chat list, a user's settings of a chat, and watermarks."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute
from tidings.api.entry_json import chat_list_response
from tidings.api.openapi import EVENTS, OF_BODIES, route_options
from tidings.api.schemas.api_model import ChatInPath
from tidings.api.schemas.chat_list import (
    ChatListParams,
    ChatListResponse,
    ChatSettingsBody,
    UnreadExplanationResponse,
    WatermarkBody,
    WatermarkResponse,
    decode_position,
    encode_position,
)
from tidings.delivery.chat_list import ChatListFilter
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["chat list"])

_OF_MARKS = (
    Code.NOT_A_MEMBER,
    Code.CHAT_NOT_FOUND,
    Code.MESSAGE_NOT_FOUND,
    Code.POSITION_AHEAD,
    Code.OUTCOME_UNKNOWN,
)
_MARK = ("memberships.check", "messages.read_one", "counters.read_many")


@router.get(
    "/chats",
    **route_options(
        "list_chats",
        Code.CURSOR_INVALID,
        Code.KEYS_UNAVAILABLE,
        response_model=ChatListResponse,
        touches=(
            "chat_list.read",
            "counters.read_groups",
            "counters.read_many",
            "chats.read_many",
            "tenants.list_data_keys",
            "user_keys.read",
            "user_keys.confirm",
        ),
        summary="List chats",
    ),
)
async def list_chats(call: AsUser, asked: Annotated[ChatListParams, Query()]) -> Response:
    """List the user's chats with preview, unread count and some members. Pinned chats come first, then by activity."""
    cursors = call.cursors.of(call.tenant, call.user, "chats", asked.filter)
    page = await call.services.chat_list.page(
        call.tenant,
        call.user,
        only=ChatListFilter(asked.filter),
        after=decode_position(cursors.read(asked.cursor)),
        limit=asked.limit,
    )
    return chat_list_response(page, cursors.write(encode_position(page.after)))


@router.patch(
    "/chats/{chat}/settings",
    **route_options(
        "update_chat_settings",
        *OF_BODIES,
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=("memberships.check", "chat_list.set_flags"),
        status_code=204,
        summary="Mute, pin or archive a chat",
    ),
)
async def update_chat_settings(call: AsUser, chat: ChatInPath, body: ChatSettingsBody) -> None:
    """Change the user's own settings of a chat. The user's connected devices receive the changed chat row."""
    await call.services.chat_list.set_flags(call.chat(chat), call.user, body.flags())
    await call.services.own_rows.notify_changed(call.chat(chat), call.user)


@router.get(
    "/chats/{chat}/unread/explain",
    **route_options(
        "explain_unread",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        touches=("memberships.check", "chat_list.read_row", "counters.read_many"),
        summary="Explain an unread count",
    ),
)
async def explain_unread(call: AsUser, chat: ChatInPath) -> UnreadExplanationResponse:
    """Return the positions that the unread count of a chat is derived from."""
    return UnreadExplanationResponse.of(await call.services.chat_list.explain(call.chat(chat), call.user))


@router.put(
    "/chats/{chat}/read",
    **route_options(
        "mark_read",
        *OF_BODIES,
        *_OF_MARKS,
        touches=("watermarks.raise_read", *_MARK, *EVENTS),
        summary="Mark messages as read",
    ),
)
async def mark_read(call: AsUser, chat: ChatInPath, body: WatermarkBody) -> WatermarkResponse:
    """Mark all messages up to `sequence` as read. The watermark only moves forward: a lower sequence has no effect."""
    reached = await call.services.marking.read(call.chat(chat), call.user, body.sequence)
    return WatermarkResponse.of(reached)


@router.put(
    "/chats/{chat}/delivered",
    **route_options(
        "mark_delivered",
        *OF_BODIES,
        *_OF_MARKS,
        touches=("watermarks.raise_delivered", *_MARK),
        summary="Mark messages as delivered",
    ),
)
async def mark_delivered(call: AsUser, chat: ChatInPath, body: WatermarkBody) -> WatermarkResponse:
    """Mark all messages up to `sequence` as delivered. The watermark only moves forward.

    Clients with a WebSocket connection do not need this.
    """
    reached = await call.services.marking.delivered(call.chat(chat), call.user, body.sequence)
    return WatermarkResponse.of(reached)
