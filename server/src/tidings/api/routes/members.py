"""Who is in a chat: list, add, remove, leave; roles; handing a group over."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.charges import charge_members, charge_number
from tidings.api.documented import OF_BODIES, OF_CHANGES, route_options
from tidings.api.door import AsUser, AuthenticatedRoute
from tidings.api.keys import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.accounts import UserResponse
from tidings.api.schemas.chats import (
    AddMembersBody,
    ChangeRoleBody,
    MemberResponse,
    MembersResponse,
    NewMemberByPhone,
    PageParams,
    TransferBody,
)
from tidings.api.schemas.ids import ChatInPath, UserInPath
from tidings.chats.manage import ChangeContext
from tidings.chats.model import Role
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId

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
        summary="Who is in a chat",
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
        summary="Let users in",
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
    found = await call.services.find_by_phone(call.tenant, call.user, body.phone_number)
    await call.services.chats.add(group, caller, [found.user])
    return UserResponse.of(found, with_phone=False)


@members_router.delete(
    "/chats/{chat}/members/{user}",
    **route_options(
        "remove_member",
        *OF_CHANGES,
        touches=("chats.remove_member", *_MEMBER_ERRORS),
        status_code=204,
        summary="Take somebody out, or leave",
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
        summary="Make an admin, or a member again",
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
        summary="Hand a group over",
    ),
)
async def transfer_chat(
    call: AsUser, chat: ChatInPath, body: TransferBody, key: IdempotencyKeyHeader = None
) -> None:
    """The member becomes its owner, the owner an admin, in one step."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.transfer(call.chat(chat), caller, body.user)
