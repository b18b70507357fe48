"""Chats: make, look, rename; and whom a user blocks."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Body, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute, UserRequest
from tidings.api.openapi import OF_BODIES, OF_CHANGES, route_options
from tidings.api.rate_limits import charge_members, charge_number, count_new_chat
from tidings.api.request_parsing import (
    IdempotencyKeyHeader,
    optional_idempotency_key,
    required_idempotency_key,
)
from tidings.api.schemas.accounts import UserResponse
from tidings.api.schemas.api_model import ChatInPath, UserInPath
from tidings.api.schemas.chats import (
    CREATE_EXAMPLES,
    AddMembersBody,
    BlocksResponse,
    ChangeRoleBody,
    ChatCreatedResponse,
    ChatResponse,
    CreateDirectBody,
    CreateGroupBody,
    MemberResponse,
    MembersResponse,
    NewMemberByPhone,
    PageParams,
    RenameBody,
    TransferBody,
)
from tidings.chats.commands import Admit, ChangeContext
from tidings.chats.model import Role
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
    "/chats",
    **route_options(
        "create_chat",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        Code.BLOCKED,
        touches=(
            "chats.create",
            "chats.create_direct",
            "chats.add_members",
            "chats.check",
            "memberships.check_many",
            *_APPEND,
        ),
        repeat=ChatCreatedResponse,
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

    The caller becomes the owner of a group. A repeat with the same idempotency key returns the same group. Two users
    have one direct chat: each request for it is answered with 200 and the same chat, whoever creates it.
    """
    chats, admit = call.services.chats, _new_chat(call)
    if isinstance(body, CreateDirectBody):
        response.status_code = 200
        return ChatCreatedResponse.of(await chats.direct(call.tenant, call.user, body.user, admit=admit))
    caller = ChangeContext(call.user, required_idempotency_key(key, body.client_message_id))
    await charge_members(call.services.limits, call.tenant, call.user, len(body.members))
    return ChatCreatedResponse.of(
        await chats.group(call.tenant, caller, body.name, body.members, admit=admit)
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
        summary="Get a chat",
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
        "list_blocks", Code.CURSOR_INVALID, touches=("chats.list_blocks",), summary="List blocked users"
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
    **route_options("block_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Block a user"),
)
async def block_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    """Neither of the two can write to the other until it is undone."""
    await call.services.chats.block(
        call.tenant, ChangeContext(call.user, optional_idempotency_key(key)), user
    )
    await call.services.visibility.reconsider(call.tenant, call.user)


@router.delete(
    "/blocks/{user}",
    **route_options("unblock_user", *OF_CHANGES, touches=_BLOCK, status_code=204, summary="Unblock a user"),
)
async def unblock_user(call: AsUser, user: UserInPath, key: IdempotencyKeyHeader = None) -> None:
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.chats.block(call.tenant, caller, user, is_blocked=False)
    await call.services.visibility.reconsider(call.tenant, call.user)


members_router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["members"])

_MEMBER_ERRORS = (
    "chats.check",
    "memberships.check",
    "messages.read_head",
    "messages.follow",
    "idempotency.refuse",
)


@members_router.get(
    "/chats/{chat}/members",
    **route_options(
        "list_members",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("memberships.check", "memberships.list", "watermarks.read_members"),
        summary="List members",
    ),
)
async def list_members(
    call: AsUser, chat: ChatInPath, asked: Annotated[PageParams, Query()]
) -> MembersResponse:
    """With when each joined and how far each has read. In a large chat, nobody's progress is shown."""
    cursors = call.cursors.of(call.tenant, call.user, "members", chat)
    after = cursors.read(asked.cursor)
    key = call.chat(chat)
    part = await call.services.queries.members(
        key, call.user, None if after is None else UserId(after), asked.limit
    )
    progress = await call.services.statuses.progress(key, [row.user for row in part.items])
    members = [MemberResponse.of(row, progress.get(row.user)) for row in part.items]
    return MembersResponse(members=members, cursor=cursors.write(part.last))


@members_router.post(
    "/chats/{chat}/members",
    **route_options(
        "add_members",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        Code.REJOIN_LIMIT_REACHED,
        touches=("chats.add_members", "memberships.check_many", *_MEMBER_ERRORS),
        status_code=204,
        summary="Add members",
    ),
)
async def add_members(
    call: AsUser, chat: ChatInPath, body: AddMembersBody, key: IdempotencyKeyHeader = None
) -> None:
    """Those who are members already are left alone."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await charge_members(call.services.limits, call.tenant, call.user, len(body.users))
    await call.services.chats.add(call.chat(chat), caller, body.users)


@members_router.post(
    "/chats/{chat}/members-by-phone",
    **route_options(
        "add_member_by_phone",
        *OF_BODIES,
        *OF_CHANGES,
        Code.USER_NOT_FOUND,
        Code.CHAT_FULL,
        Code.REJOIN_LIMIT_REACHED,
        touches=(
            "memberships.check",
            "users.find_by_phone",
            "users.confirm",
            "chats.add_members",
            "memberships.check_many",
            *_MEMBER_ERRORS,
        ),
        summary="Add a user by phone number",
    ),
)
async def add_member_by_phone(
    call: AsUser, chat: ChatInPath, body: NewMemberByPhone, key: IdempotencyKeyHeader = None
) -> UserResponse:
    """Find a user as `POST /v1/user-search` does, with the same answers and the same limits, and add them to the group.

    A caller who may not add members is refused before the number is looked up. The number is not stored in the chat
    and not shown to its members.
    """
    group, caller = (
        call.chat(chat),
        ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after),
    )
    await call.services.chats.check_may_add(group, caller)
    await charge_number(call.services.limits, call.tenant, call.user)
    found = await call.services.phone_directory.find(call.tenant, call.user, body.phone_number)
    await call.services.chats.add(group, caller, [found.user])
    return UserResponse.of(found, with_phone=False)


@members_router.delete(
    "/chats/{chat}/members/{user}",
    **route_options(
        "remove_member",
        *OF_CHANGES,
        touches=("chats.remove_member", *_MEMBER_ERRORS),
        status_code=204,
        summary="Remove a member, or leave",
    ),
)
async def remove_member(
    call: AsUser, chat: ChatInPath, user: UserInPath, key: IdempotencyKeyHeader = None
) -> None:
    """With one's own id: leave. Nothing changes for who is not a member."""
    await call.services.chats.remove(
        call.chat(chat), ChangeContext(call.user, optional_idempotency_key(key)), user
    )


@members_router.put(
    "/chats/{chat}/members/{user}/role",
    **route_options(
        "change_role",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_MEMBER_ERRORS),
        status_code=204,
        summary="Change a member's role",
    ),
)
async def change_role(
    call: AsUser, chat: ChatInPath, user: UserInPath, body: ChangeRoleBody, key: IdempotencyKeyHeader = None
) -> None:
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.change_role(call.chat(chat), caller, user, Role(body.role))


@members_router.put(
    "/chats/{chat}/owner",
    **route_options(
        "transfer_chat",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_MEMBER_ERRORS),
        status_code=204,
        summary="Transfer ownership",
    ),
)
async def transfer_chat(
    call: AsUser, chat: ChatInPath, body: TransferBody, key: IdempotencyKeyHeader = None
) -> None:
    """The member becomes its owner, the owner an admin, in one step."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.transfer(call.chat(chat), caller, body.user)
