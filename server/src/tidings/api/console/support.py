"""What support looks up: users, their devices, sessions, chats and badges."""

from typing import Annotated, Final

from fastapi import APIRouter, Query

from tidings.accounts.model import SessionId
from tidings.accounts.rules import parse_phone
from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.accounts import SessionResponse, SessionsResponse, UserResponse
from tidings.api.schemas.api_model import ApiModel, ChatInPath, Cursor, TenantInPath, Time, UserInPath
from tidings.api.schemas.chat_list import UnreadExplanationResponse
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.notifications import ExplainCountsResponse, InboxInPath
from tidings.chats.model import chat_type
from tidings.inboxes.model import InboxKey
from tidings.kernel.clock import format_ms, format_ms_or_none
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, UserId, message_id
from tidings.operators.model import Role
from tidings.trace.lookup import UserChat

router = APIRouter(prefix="/admin/v1/tenants/{tenant}/users", route_class=ConsoleRoute, tags=["support"])
_COUNTED_CHATS: Final = 1_000
_FIND_PAGE: Final = 50


class FindUsersParams(ApiModel):
    """Exactly one of `id`, `phone` and `prefix`. An empty prefix lists all users."""

    id: str | None = None
    phone: str | None = None
    prefix: Annotated[str, Query(max_length=64)] | None = None
    limit: Annotated[int, Query(ge=1, le=100, strict=False)] = _FIND_PAGE
    cursor: Cursor | None = None


class FoundUsersResponse(ApiModel):
    users: list[UserResponse]
    cursor: Cursor | None = None


class SupportUserResponse(ApiModel):
    """A user with their presence and number of chats. `chats` is left out above 1,000."""

    user: UserResponse
    presence: str | None = None
    last_seen_at: Time | None = None
    chats: int | None = None


class ConnectedDevice(ApiModel):
    id: str
    gateway: str
    connected_since: Time
    is_gateway_running: bool


class DevicesResponse(ApiModel):
    """Connected devices. `unavailable` says why they are unknown."""

    devices: list[ConnectedDevice] | None = None
    unavailable: str | None = None


class SupportChat(ApiModel):
    """A chat of a user. Messages of either member are refused while one of them blocks the other."""

    id: str
    type: str
    name: str | None = None
    others: list[str]
    more_others: int
    last_activity_at: Time | None = None
    newest_message: str | None = None
    is_member: bool
    blocks_other: bool | None = None
    blocked_by_other: bool | None = None

    @classmethod
    def of(cls, user: UserId, found: UserChat) -> "SupportChat":
        chat, newest = found.chat, found.newest
        others: list[str] = sorted((chat.some_members if chat else frozenset()) - {user})
        counted = 0 if chat is None else chat.member_count - found.membership.is_member
        return cls(
            id=found.id,
            type=chat_type(found.id).value,
            name=None if chat is None else chat.name,
            others=[*others],
            more_others=max(0, counted - len(others)),
            last_activity_at=None if newest is None else format_ms(newest.created_at_ms),
            newest_message=None if newest is None else message_id(found.id, newest.sequence),
            is_member=found.membership.is_member,
            blocks_other=found.membership.blocks_other or None,
            blocked_by_other=found.membership.blocked_by_other or None,
        )


class SupportChatsResponse(ApiModel):
    chats: list[SupportChat]
    cursor: Cursor | None = None


@router.get("", **allow("find_users", Role.SUPPORT, is_recorded=False))
async def find_users(
    call: AsOperator, tenant: TenantInPath, asked: Annotated[FindUsersParams, Query()]
) -> FoundUsersResponse:
    """Find users by id, phone number or the start of an id."""
    users = call.context.services.users
    if sum(each is not None for each in (asked.id, asked.phone, asked.prefix)) != 1:
        raise TidingsError(Code.REQUEST_INVALID, "Give exactly one of `id`, `phone` and `prefix`.")
    if asked.phone is not None:
        owner = await users.by_phone(tenant, parse_phone(asked.phone))
        return FoundUsersResponse(users=[] if owner is None else [UserResponse.of(owner, with_phone=True)])
    if asked.id is not None:
        found = await users.read_many(tenant, [UserId(asked.id)])
        return FoundUsersResponse(users=[UserResponse.of(each, with_phone=True) for each in found.values()])
    cursors = call.context.cursors.of(tenant, None, f"users {call.operator.id}", asked.prefix)
    after = cursors.read(asked.cursor)
    page = await users.list(tenant, None if after is None else UserId(after), asked.limit, asked.prefix or "")
    return FoundUsersResponse(
        users=[UserResponse.of(each, with_phone=True) for each in page.users],
        cursor=cursors.write(page.after),
    )


@router.get("/{user}", **allow("get_user", Role.SUPPORT, is_recorded=False))
async def get_user(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> SupportUserResponse:
    """Get a user with their presence and number of chats."""
    support = call.context.services.support
    found = await call.context.services.users.read(tenant, user)
    presence = await support.presence(tenant, user)
    return SupportUserResponse(
        user=UserResponse.of(found, with_phone=True),
        presence=None if presence is None else presence.status.value,
        last_seen_at=None if presence is None else format_ms_or_none(presence.seen_ms),
        chats=await support.chats.count(tenant, user, _COUNTED_CHATS),
    )


@router.get("/{user}/devices", **allow("list_devices", Role.SUPPORT, is_recorded=False))
async def list_devices(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> DevicesResponse:
    """List the user's connected devices."""
    try:
        found = await call.context.services.support.devices(tenant, user)
    except UnavailableError as error:
        return DevicesResponse(unavailable=str(error))
    return DevicesResponse(
        devices=[
            ConnectedDevice(
                id=each.device,
                gateway=each.gateway,
                connected_since=format_ms(each.since_ms),
                is_gateway_running=each.has_subscriber,
            )
            for each in found
        ]
    )


@router.get("/{user}/sessions", **allow("list_user_sessions", Role.SUPPORT, is_recorded=False))
async def list_user_sessions(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> SessionsResponse:
    """List the user's sessions."""
    rows = await call.context.services.user_sessions.list(tenant, user)
    return SessionsResponse(sessions=[SessionResponse.of(row) for row in rows])


@router.delete(
    "/{user}/sessions",
    **allow("end_user_sessions", Role.SUPPORT, needs_reason=True, is_recorded=True, status_code=204),
)
async def end_user_sessions(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> None:
    """End all sessions of a user, and refuse earlier tokens of the tenant's server."""
    await call.context.services.user_sessions.revoke_all(tenant, user)


@router.delete(
    "/{user}/sessions/{session}",
    **allow("end_user_session", Role.SUPPORT, needs_reason=True, is_recorded=True, status_code=204),
)
async def end_user_session(call: AsOperator, tenant: TenantInPath, user: UserInPath, session: str) -> None:
    """End one session of a user."""
    if not await call.context.services.user_sessions.revoke(tenant, user, SessionId(session)):
        raise TidingsError(Code.USER_NOT_FOUND, "The user has no such session.")


@router.put(
    "/{user}/suspension",
    **allow("suspend_user", Role.OPERATOR, needs_reason=True, is_recorded=True, status_code=204),
)
async def suspend_user(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> None:
    """Refuse every credential of a user and close their connections, everywhere within 10 seconds."""
    await call.context.services.users.suspend(tenant, user, is_on=True)


@router.delete(
    "/{user}/suspension",
    **allow("unsuspend_user", Role.OPERATOR, needs_reason=True, is_recorded=True, status_code=204),
)
async def unsuspend_user(call: AsOperator, tenant: TenantInPath, user: UserInPath) -> None:
    """Accept the credentials of a user again."""
    await call.context.services.users.suspend(tenant, user, is_on=False)


@router.get("/{user}/chats", **allow("list_user_chats", Role.SUPPORT, is_recorded=False))
async def list_user_chats(
    call: AsOperator, tenant: TenantInPath, user: UserInPath, asked: Annotated[PageParams, Query()]
) -> SupportChatsResponse:
    """List the user's chats. Pages are in the order of chat ids, and each is sorted by activity."""
    cursors = call.context.cursors.of(tenant, user, f"support chats {call.operator.id}")
    after = cursors.read(asked.cursor)
    start = None if after is None else ChatId(after)
    found = await call.context.services.support.chats.page(tenant, user, start, asked.limit)
    last = max((each.id for each in found), default=None) if len(found) == asked.limit else None
    return SupportChatsResponse(
        chats=[SupportChat.of(user, each) for each in found], cursor=cursors.write(last)
    )


@router.get("/{user}/chats/{chat}/unread", **allow("explain_chat_unread", Role.SUPPORT, is_recorded=False))
async def explain_chat_unread(
    call: AsOperator, tenant: TenantInPath, user: UserInPath, chat: ChatInPath
) -> UnreadExplanationResponse:
    """Explain the unread count of a chat."""
    explained = await call.context.services.support.chat_list.explain(ChatKey(tenant, chat), user)
    return UnreadExplanationResponse.of(explained)


@router.get("/{user}/inboxes/{inbox}/explain", **allow("explain_badge", Role.SUPPORT, is_recorded=False))
async def explain_badge(
    call: AsOperator,
    tenant: TenantInPath,
    user: UserInPath,
    inbox: InboxInPath,
    asked: Annotated[PageParams, Query()],
) -> ExplainCountsResponse:
    """List a user's notifications with the reason why each one is or is not counted, without their content."""
    services = call.context.services.notifications
    known = await services.known.of(tenant, inbox)
    cursors = call.context.cursors.of(tenant, user, f"support explain {call.operator.id}", inbox)
    explained = await services.read.explain(
        InboxKey(tenant, user, inbox), asked.limit, cursors.read(asked.cursor)
    )
    return ExplainCountsResponse.of(explained, known, cursors.write(explained.below))
