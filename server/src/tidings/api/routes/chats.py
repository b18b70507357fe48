"""Chats and blocks."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute, MembersRoute, UserRequest
from tidings.api.openapi import OF_APPENDS, OF_BODIES, OF_CHANGES, route_options
from tidings.api.rate_limits import charge_members, count_new_chat
from tidings.api.request_parsing import (
    IdempotencyKeyHeader,
    optional_idempotency_key,
    required_idempotency_key,
)
from tidings.api.routes.members import START_JOB, member_job_path
from tidings.api.schemas.api_model import ChatInPath, UserInPath
from tidings.api.schemas.chats import (
    CREATE_EXAMPLES,
    BlocksResponse,
    ChatCreatedResponse,
    ChatResponse,
    CreateDirectBody,
    CreateGroupBody,
    PageParams,
    RenameBody,
)
from tidings.chats.commands import Admit, ChangeContext
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["chats"])
create_router = APIRouter(prefix="/v1", route_class=MembersRoute, tags=["chats"])

_CHAT_ERRORS = (
    "memberships.check",
    "chats.read",
    "chats.check",
    "chat_list.read_row",
    "counters.read_many",
    "chats.read_many",
    "tenants.list_data_keys",
)


@create_router.post(
    "/chats",
    **route_options(
        "create_chat",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        Code.BLOCKED,
        Code.USER_ERASED,
        Code.KEYS_UNAVAILABLE,
        touches=(
            "users.find_erased",
            "chats.create",
            "chats.create_direct",
            "chats.check",
            "memberships.check_many",
            *START_JOB,
            *OF_APPENDS,
        ),
        repeat=ChatCreatedResponse,
        accepted=ChatCreatedResponse,
        status_code=201,
        summary="Create a chat",
    ),
)
async def create_chat(
    call: AsUser,
    body: Annotated[CreateDirectBody | CreateGroupBody, Body(discriminator="type", examples=CREATE_EXAMPLES)],
    response: Response,
    key: IdempotencyKeyHeader = None,
) -> ChatCreatedResponse:
    """Create a group, or get or create the direct chat with a user.

    The caller becomes the owner of a group. A retry with the same idempotency key returns the same group. Two users
    have one direct chat: each request for it is answered with 200 and the same chat, whichever user creates it.

    A group with more than 96 members is answered with 202: it exists, and `job` adds the other members. Read its progress
    with `get_member_job`. The tenant's `max_members` limits the members of a group and the size of the body.
    """
    chats, admit = call.services.chats, _new_chat(call)
    if isinstance(body, CreateDirectBody):
        response.status_code = 200
        return ChatCreatedResponse.of(await chats.direct(call.tenant, call.user, body.user, admit=admit))
    caller = ChangeContext(call.user, required_idempotency_key(key, body.client_message_id))
    await charge_members(call.services.limits, call.tenant, call.user, len(body.members))
    chat, job = await call.services.members.create_group(
        call.tenant, caller, body.name, body.members, admit=admit
    )
    if job is not None:
        response.status_code = 202
        response.headers["location"] = member_job_path(chat, job)
    return ChatCreatedResponse.of(chat, job)


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
        summary="Get a chat",
    ),
)
async def get_chat(call: AsUser, chat: ChatInPath) -> ChatResponse:
    """Get a chat with its newest message. Only members can read it."""
    return await _chat_response(call, chat)


async def _chat_response(call: UserRequest, chat: ChatId) -> ChatResponse:
    key = call.chat(chat)
    looked = await call.services.queries.chat(key, call.user)
    row = await call.services.chat_list.one(key, call.user)
    return ChatResponse.of(looked, row)


@router.patch(
    "/chats/{chat}",
    **route_options(
        "rename_chat",
        *OF_BODIES,
        *OF_CHANGES,
        Code.KEYS_UNAVAILABLE,
        touches=("chats.rename", *_CHAT_ERRORS, *OF_APPENDS),
        summary="Rename a group",
    ),
)
async def rename_chat(
    call: AsUser, chat: ChatInPath, body: RenameBody, key: IdempotencyKeyHeader = None
) -> ChatResponse:
    """Change the name of a group. Requires the role `owner` or `admin`."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.rename(call.chat(chat), caller, body.name)
    return await _chat_response(call, chat)


_BLOCK = ("chats.block", "chats.block_stranger", "chats.check", *OF_APPENDS)


@router.get(
    "/blocks",
    **route_options(
        "list_blocks", Code.CURSOR_INVALID, touches=("chats.list_blocks",), summary="List blocked users"
    ),
)
async def list_blocks(call: AsUser, asked: Annotated[PageParams, Query()]) -> BlocksResponse:
    """List the users that the user has blocked, by id."""
    cursors = call.cursors.of(call.tenant, call.user, "blocks")
    after = cursors.read(asked.cursor)
    part = await call.services.queries.blocks(
        call.tenant, call.user, None if after is None else UserId(after), asked.limit
    )
    return BlocksResponse(users=list(part.items), cursor=cursors.write(part.last))


@router.put(
    "/blocks/{user}",
    **route_options("block_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Block a user"),
)
async def block_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    """Block a user. Neither of the two can send messages to the other in their direct chat."""
    await call.services.chats.block(
        call.tenant, ChangeContext(call.user, optional_idempotency_key(key)), user
    )
    await call.services.visibility.reconsider(call.tenant, call.user)


@router.delete(
    "/blocks/{user}",
    **route_options("unblock_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Unblock a user"),
)
async def unblock_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    """Remove a block."""
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.chats.block(call.tenant, caller, user, is_blocked=False)
    await call.services.visibility.reconsider(call.tenant, call.user)
