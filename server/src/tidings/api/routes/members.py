"""Who is in a chat: list, add, remove, leave; roles; handing a group over."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.charges import charge_members, charge_number
from tidings.api.documented import OF_BODIES, OF_CHANGES, route
from tidings.api.door import AsUser, Guarded
from tidings.api.keys import KeyHeader, optional_key
from tidings.api.schemas.accounts import UserShown
from tidings.api.schemas.chats import (
    Listed,
    MemberShown,
    MembersShown,
    NewMemberByPhone,
    NewMembers,
    NewOwner,
    NewRole,
)
from tidings.api.schemas.ids import ChatInPath, UserInPath
from tidings.chats.manage import Caller
from tidings.chats.model import Role
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["members"])

_APPEND = (
    "chats.check",
    "memberships.check",
    "messages.read_head",
    "messages.follow",
    "idempotency.refuse",
)


@router.get(
    "/chats/{chat}/members",
    **route(
        "list_members",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("memberships.check", "memberships.list", "watermarks.read_members"),
        summary="Who is in a chat",
    ),
)
async def list_members(call: AsUser, chat: ChatInPath, asked: Annotated[Listed, Query()]) -> MembersShown:
    """With when each joined and how far each has read. In a large chat, nobody's progress is shown."""
    cursors = call.cursors.of(call.tenant, call.user, "members", chat)
    after = cursors.read(asked.cursor)
    key = call.chat(chat)
    part = await call.services.look.members(
        key, call.user, None if after is None else UserId(after), asked.limit
    )
    progress = await call.services.statuses.progress(key, [row.user for row in part.items])
    members = [MemberShown.of(row, progress.get(row.user)) for row in part.items]
    return MembersShown(members=members, cursor=cursors.write(part.last))


@router.post(
    "/chats/{chat}/members",
    **route(
        "add_members",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        Code.STAYS_USED_UP,
        touches=("chats.add_members", "memberships.check_many", *_APPEND),
        status_code=204,
        summary="Let users in",
    ),
)
async def add_members(call: AsUser, chat: ChatInPath, body: NewMembers, key: KeyHeader = None) -> None:
    """Those who are members already are left alone."""
    caller = Caller(call.user, optional_key(key, body.client_message_id), body.after)
    await charge_members(call.services.limits, call.tenant, call.user, len(body.users))
    await call.services.chats.add(call.chat(chat), caller, body.users)


@router.post(
    "/chats/{chat}/members-by-phone",
    **route(
        "add_member_by_phone",
        *OF_BODIES,
        *OF_CHANGES,
        Code.USER_NOT_FOUND,
        Code.CHAT_FULL,
        Code.STAYS_USED_UP,
        touches=(
            "memberships.check",
            "users.find_by_phone",
            "users.confirm",
            "chats.add_members",
            "memberships.check_many",
            *_APPEND,
        ),
        summary="Add a user by phone number",
    ),
)
async def add_member_by_phone(
    call: AsUser, chat: ChatInPath, body: NewMemberByPhone, key: KeyHeader = None
) -> UserShown:
    """Find a user as `POST /v1/user-search` does, with the same answers and the same limits, and add them to the group.

    A caller who may not add members is refused before the number is looked up. The number is not stored in the chat
    and not shown to its members.
    """
    group, caller = call.chat(chat), Caller(call.user, optional_key(key, body.client_message_id), body.after)
    await call.services.chats.check_may_add(group, caller)
    await charge_number(call.services.limits, call.tenant, call.user)
    found = await call.services.find_by_phone(call.tenant, call.user, body.phone_number)
    await call.services.chats.add(group, caller, [found.user])
    return UserShown.of(found, with_phone=False)


@router.delete(
    "/chats/{chat}/members/{user}",
    **route(
        "remove_member",
        *OF_CHANGES,
        touches=("chats.remove_member", *_APPEND),
        status_code=204,
        summary="Take somebody out, or leave",
    ),
)
async def remove_member(call: AsUser, chat: ChatInPath, user: UserInPath, key: KeyHeader = None) -> None:
    """With one's own id: leave. Nothing changes for who is not a member."""
    await call.services.chats.remove(call.chat(chat), Caller(call.user, optional_key(key)), user)


@router.put(
    "/chats/{chat}/members/{user}/role",
    **route(
        "change_role",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_APPEND),
        status_code=204,
        summary="Make an admin, or a member again",
    ),
)
async def change_role(
    call: AsUser, chat: ChatInPath, user: UserInPath, body: NewRole, key: KeyHeader = None
) -> None:
    caller = Caller(call.user, optional_key(key, body.client_message_id), body.after)
    await call.services.chats.change_role(call.chat(chat), caller, user, Role(body.role))


@router.put(
    "/chats/{chat}/owner",
    **route(
        "transfer_chat",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_APPEND),
        status_code=204,
        summary="Hand a group over",
    ),
)
async def transfer_chat(call: AsUser, chat: ChatInPath, body: NewOwner, key: KeyHeader = None) -> None:
    """The member becomes its owner, the owner an admin, in one step."""
    caller = Caller(call.user, optional_key(key, body.client_message_id), body.after)
    await call.services.chats.transfer(call.chat(chat), caller, body.user)
