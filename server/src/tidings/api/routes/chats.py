"""Chats: make, look, rename; and whom a user blocks."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.charges import charge_members, count_new_chat
from tidings.api.documented import OF_BODIES, OF_CHANGES, route_options
from tidings.api.door import AsUser, AuthenticatedRoute, UserRequest
from tidings.api.keys import IdempotencyKeyHeader, optional_idempotency_key, required_idempotency_key
from tidings.api.schemas.chats import (
    BlocksResponse,
    ChatCreatedResponse,
    ChatResponse,
    CreateDirectBody,
    CreateGroupBody,
    PageParams,
    RenameBody,
)
from tidings.api.schemas.ids import ChatInPath, UserInPath
from tidings.chats.manage import Admit, ChangeContext
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["chats"])

_CHAT_ERRORS = (
    "memberships.check",
    "chats.read",
    "chats.check",
    "chat_list.read_row",
    "counters.read_many",
    "chats.read_many",
    "tenants.list_data_keys",
)
_APPEND = ("messages.read_head", "messages.follow", "memberships.check", "idempotency.refuse")


@router.post(
    "/groups",
    **route_options(
        "create_group",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        touches=("chats.create", "chats.add_members", "chats.check", "memberships.check_many", *_APPEND),
        status_code=201,
        summary="Make a group",
    ),
)
async def create_group(
    call: AsUser, body: CreateGroupBody, key: IdempotencyKeyHeader = None
) -> ChatCreatedResponse:
    """The caller becomes its owner. A repeat with the same key finds the group that was made."""
    caller = ChangeContext(call.user, required_idempotency_key(key, body.client_message_id))
    await charge_members(call.services.limits, call.tenant, call.user, len(body.members))
    admit = _new_chat(call)
    return ChatCreatedResponse.of(
        await call.services.chats.group(call.tenant, caller, body.name, body.members, admit=admit)
    )


@router.post(
    "/directs",
    **route_options(
        "open_direct",
        *OF_BODIES,
        Code.BLOCKED,
        Code.OUTCOME_UNKNOWN,
        touches=("chats.check", "chats.create_direct"),
        summary="Get or make a direct chat",
    ),
)
async def open_direct(call: AsUser, body: CreateDirectBody) -> ChatCreatedResponse:
    """The chat of these two, made if it is not there. Who asks first, and how often, makes no difference."""
    admit = _new_chat(call)
    return ChatCreatedResponse.of(
        await call.services.chats.direct(call.tenant, call.user, body.user, admit=admit)
    )


def _new_chat(call: UserRequest) -> Admit:
    return partial(count_new_chat, call.services.limits, call.tenant, call.user)


@router.get(
    "/chats/{chat}",
    **route_options(
        "get_chat",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.KEYS_UNAVAILABLE,
        touches=_CHAT_ERRORS,
        summary="Look at a chat",
    ),
)
async def get_chat(call: AsUser, chat: ChatInPath) -> ChatResponse:
    """For its members only, with its newest message."""
    return await _chat_response(call, chat)


async def _chat_response(call: UserRequest, chat: ChatId) -> ChatResponse:
    key = call.chat(chat)
    looked = await call.services.queries.chat(key, call.user)
    return ChatResponse.of(looked, await call.services.chat_list.one(key, call.user))


@router.patch(
    "/chats/{chat}",
    **route_options(
        "rename_chat",
        *OF_BODIES,
        *OF_CHANGES,
        Code.KEYS_UNAVAILABLE,
        touches=("chats.rename", *_CHAT_ERRORS, *_APPEND),
        summary="Rename a group",
    ),
)
async def rename_chat(
    call: AsUser, chat: ChatInPath, body: RenameBody, key: IdempotencyKeyHeader = None
) -> ChatResponse:
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.rename(call.chat(chat), caller, body.name)
    return await _chat_response(call, chat)


_BLOCK = ("chats.block", "chats.block_stranger", "chats.check", *_APPEND)


@router.get(
    "/blocks",
    **route_options(
        "list_blocks", Code.CURSOR_INVALID, touches=("chats.list_blocks",), summary="Whom one blocks"
    ),
)
async def list_blocks(call: AsUser, asked: Annotated[PageParams, Query()]) -> BlocksResponse:
    cursors = call.cursors.of(call.tenant, call.user, "blocks")
    after = cursors.read(asked.cursor)
    part = await call.services.queries.blocks(
        call.tenant, call.user, None if after is None else UserId(after), asked.limit
    )
    return BlocksResponse(users=list(part.items), cursor=cursors.write(part.last))


@router.put(
    "/blocks/{user}",
    **route_options("block_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Block somebody"),
)
async def block_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    """Neither of the two can write to the other until it is undone."""
    await call.services.chats.block(
        call.tenant, ChangeContext(call.user, optional_idempotency_key(key)), user
    )
    await call.services.visibility.reconsider(call.tenant, call.user)


@router.delete(
    "/blocks/{user}",
    **route_options("unblock_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Undo a block"),
)
async def unblock_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.chats.block(call.tenant, caller, user, is_blocked=False)
    await call.services.visibility.reconsider(call.tenant, call.user)
