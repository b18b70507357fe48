"""Members of groups: list, add, remove, roles."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from tidings.api.auth import AsUser, AuthenticatedRoute, MembersRoute
from tidings.api.openapi import OF_APPENDS, OF_BODIES, OF_CHANGES, route_options
from tidings.api.rate_limits import charge_members, charge_number
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.accounts import UserResponse
from tidings.api.schemas.api_model import ChatInPath, UserInPath
from tidings.api.schemas.chats import (
    AddMembersBody,
    ChangeRoleBody,
    MemberJobResponse,
    MemberResponse,
    MembersAcceptedResponse,
    MembersResponse,
    NewMemberByPhone,
    PageParams,
    TransferBody,
)
from tidings.api.schemas.jobs import JobInPath
from tidings.chats.commands import ChangeContext
from tidings.chats.model import Role
from tidings.jobs.model import JobId
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["members"])
add_router = APIRouter(prefix="/v1", route_class=MembersRoute, tags=["members"])

START_JOB = ("jobs.claim_key", "jobs.read", "jobs.put_chunks", "jobs.create")
_CHANGE = ("chats.check", *OF_APPENDS)


@router.get(
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
    """List the members of a chat by id, with role and watermarks. Large chats have no watermarks."""
    cursors = call.cursors.of(call.tenant, call.user, "members", chat)
    after = cursors.read(asked.cursor)
    key = call.chat(chat)
    part = await call.services.queries.members(
        key, call.user, None if after is None else UserId(after), asked.limit
    )
    progress = await call.services.statuses.progress(key, [row.user for row in part.items])
    members = [MemberResponse.of(row, progress.get(row.user)) for row in part.items]
    return MembersResponse(members=members, cursor=cursors.write(part.last))


@add_router.post(
    "/chats/{chat}/members",
    **route_options(
        "add_members",
        *OF_BODIES,
        *OF_CHANGES,
        Code.CHAT_FULL,
        Code.REJOIN_LIMIT_REACHED,
        Code.USER_ERASED,
        Code.KEYS_UNAVAILABLE,
        touches=("chats.add_members", "memberships.check_many", "users.find_erased", *START_JOB, *_CHANGE),
        accepted=MembersAcceptedResponse,
        status_code=204,
        summary="Add members",
    ),
)
async def add_members(
    call: AsUser, chat: ChatInPath, body: AddMembersBody, key: IdempotencyKeyHeader = None
) -> Response:
    """Add users to a group. Users who are already members are not changed.

    Up to 96 users are added at once, and the answer is 204. For more, the answer is 202 with a `job` that adds them in
    chunks; read its progress with `get_member_job`. The tenant's `max_members` limits the members of a group and the
    size of the body.
    """
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await charge_members(call.services.limits, call.tenant, call.user, len(body.users))
    group = call.chat(chat)
    job = await call.services.members.add(group, caller, body.users)
    if job is None:
        return Response(status_code=204)
    accepted = MembersAcceptedResponse(job=job)
    return JSONResponse(accepted.model_dump(), 202, headers={"location": member_job_path(group, job)})


def member_job_path(chat: ChatKey, job: JobId) -> str:
    return f"/v1/chats/{chat.chat}/member-jobs/{job}"


@router.get(
    "/chats/{chat}/member-jobs/{job}",
    **route_options(
        "get_member_job",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.JOB_NOT_FOUND,
        touches=("memberships.check", "jobs.read", "jobs.read_progress"),
        summary="Get the progress of adding members",
    ),
)
async def get_member_job(call: AsUser, chat: ChatInPath, job: JobInPath) -> MemberJobResponse:
    """Get the state and progress of a job that adds members. Requires the role `owner` or `admin`.

    `failed` counts users who could not be added: they were erased, joined and left too often, the group was full, or the user who
    started the job may no longer add members.
    """
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    return MemberJobResponse.of(await call.services.members.progress(call.chat(chat), caller, job))


@router.post(
    "/chats/{chat}/members-by-phone",
    **route_options(
        "add_member_by_phone",
        *OF_BODIES,
        *OF_CHANGES,
        Code.USER_NOT_FOUND,
        Code.CHAT_FULL,
        Code.REJOIN_LIMIT_REACHED,
        Code.USER_ERASED,
        touches=(
            "memberships.check",
            "users.find_erased",
            "users.find_by_phone",
            "users.confirm",
            "chats.add_members",
            "memberships.check_many",
            *_CHANGE,
        ),
        summary="Add a member by phone number",
    ),
)
async def add_member_by_phone(
    call: AsUser, chat: ChatInPath, body: NewMemberByPhone, key: IdempotencyKeyHeader = None
) -> UserResponse:
    """Find a user as `POST /v1/user-search` does, with the same errors and limits, and add them to the group.

    The permission to add members is checked before the number is looked up. The number is not stored in the chat and
    not shown to its members.
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


@router.delete(
    "/chats/{chat}/members/{user}",
    **route_options(
        "remove_member",
        *OF_CHANGES,
        touches=("chats.remove_member", *_CHANGE),
        status_code=204,
        summary="Remove a member or leave",
    ),
)
async def remove_member(
    call: AsUser, chat: ChatInPath, user: UserInPath, key: IdempotencyKeyHeader = None
) -> None:
    """Remove a member from a group. With the user's own id, leave it. A user who is not a member causes no error."""
    await call.services.chats.remove(
        call.chat(chat), ChangeContext(call.user, optional_idempotency_key(key)), user
    )


@router.put(
    "/chats/{chat}/members/{user}/role",
    **route_options(
        "change_role",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_CHANGE),
        status_code=204,
        summary="Change a member's role",
    ),
)
async def change_role(
    call: AsUser, chat: ChatInPath, user: UserInPath, body: ChangeRoleBody, key: IdempotencyKeyHeader = None
) -> None:
    """Make a member an admin, or an admin a member."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.change_role(call.chat(chat), caller, user, Role(body.role))


@router.put(
    "/chats/{chat}/owner",
    **route_options(
        "transfer_chat",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.change_role", "memberships.check_many", *_CHANGE),
        status_code=204,
        summary="Transfer ownership",
    ),
)
async def transfer_chat(
    call: AsUser, chat: ChatInPath, body: TransferBody, key: IdempotencyKeyHeader = None
) -> None:
    """Make a member the owner of the group. The previous owner becomes an admin, in the same step."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.chats.transfer(call.chat(chat), caller, body.user)
