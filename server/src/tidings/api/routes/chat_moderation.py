"""Moderation of a chat by its admins: rules, mutes, bans, links, invites; and joins."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.auth import AsUser, AuthenticatedRoute
from tidings.api.openapi import OF_APPENDS, OF_BODIES, OF_CHANGES, route_options
from tidings.api.rate_limits import charge_members
from tidings.api.request_parsing import IdempotencyKeyHeader, optional_idempotency_key
from tidings.api.schemas.api_model import ChatInPath, UserInPath
from tidings.api.schemas.chat_list import to_ms_or_none
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.moderation import (
    BanResponse,
    BansResponse,
    ChatRulesBody,
    InviteBody,
    InviteResponse,
    InvitesResponse,
    JoinBody,
    JoinLinkResponse,
    RestrictionBody,
)
from tidings.chats.commands import ChangeContext
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["chat moderation"])

_CHANGE = ("chats.check", *OF_APPENDS)
_JOIN = (Code.BANNED, Code.CHAT_FULL, Code.REJOIN_LIMIT_REACHED, Code.USER_ERASED, Code.KEYS_UNAVAILABLE)


@router.put(
    "/chats/{chat}/rules",
    **route_options(
        "set_chat_rules",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.set_rules", *_CHANGE),
        status_code=204,
        summary="Freeze a group, or set slow mode or its join rule",
    ),
)
async def set_chat_rules(
    call: AsUser, chat: ChatInPath, body: ChatRulesBody, key: IdempotencyKeyHeader = None
) -> None:
    """Change the rules of a group. Requires the role `owner` or `admin`.

    In a frozen group only admins send, edit and react. Slow mode is the time between two messages of a member; admins are
    exempt. The rules apply to every message after this change.
    """
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.moderation.chats.set_rules(call.chat(chat), caller, body.change())


@router.put(
    "/chats/{chat}/members/{user}/mute",
    **route_options(
        "mute_member",
        *OF_BODIES,
        *OF_CHANGES,
        touches=("chats.restrict", *_CHANGE),
        status_code=204,
        summary="Mute a member",
    ),
)
async def mute_member(
    call: AsUser, chat: ChatInPath, user: UserInPath, body: RestrictionBody, key: IdempotencyKeyHeader = None
) -> None:
    """Mute a member: they read the group, and may not send, edit or react. Only the owner mutes an admin."""
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.moderation.chats.mute(
        call.chat(chat), caller, user, until_ms=to_ms_or_none(body.until), reason=body.reason
    )


@router.delete(
    "/chats/{chat}/members/{user}/mute",
    **route_options(
        "unmute_member",
        *OF_CHANGES,
        touches=("chats.restrict", *_CHANGE),
        status_code=204,
        summary="Unmute a member",
    ),
)
async def unmute_member(
    call: AsUser, chat: ChatInPath, user: UserInPath, key: IdempotencyKeyHeader = None
) -> None:
    """End a mute. A member who is not muted causes no error."""
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.moderation.chats.unmute(call.chat(chat), caller, user)


@router.get(
    "/chats/{chat}/bans",
    **route_options(
        "list_bans",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.CURSOR_INVALID,
        touches=("memberships.check", "memberships.list"),
        summary="List bans",
    ),
)
async def list_bans(call: AsUser, chat: ChatInPath, asked: Annotated[PageParams, Query()]) -> BansResponse:
    """List the banned users of a group by id. Requires the role `owner` or `admin`."""
    cursors = call.cursors.of(call.tenant, call.user, "bans", chat)
    after = cursors.read(asked.cursor)
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    page = await call.services.moderation.chats.bans(
        call.chat(chat), caller, None if after is None else UserId(after), asked.limit
    )
    return BansResponse(bans=[BanResponse.of(row) for row in page.items], cursor=cursors.write(page.last))


@router.put(
    "/chats/{chat}/bans/{user}",
    **route_options(
        "ban_user",
        *OF_BODIES,
        *OF_CHANGES,
        Code.USER_ERASED,
        touches=("chats.remove_member", "chats.restrict", "users.find_erased", *_CHANGE),
        status_code=204,
        summary="Ban a user",
    ),
)
async def ban_user(
    call: AsUser, chat: ChatInPath, user: UserInPath, body: RestrictionBody, key: IdempotencyKeyHeader = None
) -> None:
    """Ban a user from a group. A member is removed. Until the ban ends, they cannot join, accept an invite or be added.

    The ban is an entry of the log with its end and its reason. Requires the role `owner` or `admin`; only the owner bans
    an admin.
    """
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id), body.after)
    await call.services.moderation.chats.ban(
        call.chat(chat), caller, user, until_ms=to_ms_or_none(body.until), reason=body.reason
    )


@router.delete(
    "/chats/{chat}/bans/{user}",
    **route_options(
        "unban_user",
        *OF_CHANGES,
        touches=("chats.restrict", *_CHANGE),
        status_code=204,
        summary="Unban a user",
    ),
)
async def unban_user(
    call: AsUser, chat: ChatInPath, user: UserInPath, key: IdempotencyKeyHeader = None
) -> None:
    """End a ban. The user does not become a member. A user who is not banned causes no error."""
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.moderation.chats.unban(call.chat(chat), caller, user)


@router.post(
    "/chats/{chat}/join",
    **route_options(
        "join_chat",
        *OF_BODIES,
        *OF_CHANGES,
        *_JOIN,
        touches=("chats.add_members", "users.find_erased", *_CHANGE),
        status_code=204,
        summary="Join a group",
    ),
)
async def join_chat(call: AsUser, chat: ChatInPath, body: JoinBody, key: IdempotencyKeyHeader = None) -> None:
    """Join a group whose rule is `open`, or `link` with the token of its link. A member causes no error.

    A group that the user may not join is answered with `chat_not_found`.
    """
    await charge_members(call.services.limits, call.tenant, call.user, 1)
    caller = ChangeContext(call.user, optional_idempotency_key(key, body.client_message_id))
    await call.services.moderation.joins.join(call.chat(chat), caller, body.token)


@router.post(
    "/chats/{chat}/link",
    **route_options(
        "create_join_link",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        touches=("memberships.check", "chats.set_link"),
        status_code=201,
        summary="Create a join link",
    ),
)
async def create_join_link(call: AsUser, chat: ChatInPath) -> JoinLinkResponse:
    """Create the link of a group. The link before it is invalid from then on. It admits while the rule is `link`."""
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    return JoinLinkResponse(token=await call.services.moderation.joins.create_link(call.chat(chat), caller))


@router.delete(
    "/chats/{chat}/link",
    **route_options(
        "revoke_join_link",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        touches=("memberships.check", "chats.set_link"),
        status_code=204,
        summary="Revoke the join link",
    ),
)
async def revoke_join_link(call: AsUser, chat: ChatInPath) -> None:
    """Revoke the link of a group. A join that has not committed is refused."""
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    await call.services.moderation.joins.revoke_link(call.chat(chat), caller)


@router.post(
    "/chats/{chat}/invites",
    **route_options(
        "invite_users",
        *OF_BODIES,
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        Code.BANNED,
        Code.USER_ERASED,
        touches=("memberships.check", "memberships.check_many", "users.find_erased", "chats.put_invites"),
        status_code=204,
        summary="Invite users",
    ),
)
async def invite_users(call: AsUser, chat: ChatInPath, body: InviteBody) -> None:
    """Invite users to a group. They become members when they accept. Members are skipped."""
    await charge_members(call.services.limits, call.tenant, call.user, len(body.users))
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    await call.services.moderation.joins.invite(call.chat(chat), caller, body.users)


@router.delete(
    "/chats/{chat}/invites/{user}",
    **route_options(
        "revoke_invite",
        Code.NOT_A_MEMBER,
        Code.CHAT_NOT_FOUND,
        touches=("memberships.check", "chats.delete_invite"),
        status_code=204,
        summary="Revoke an invite",
    ),
)
async def revoke_invite(call: AsUser, chat: ChatInPath, user: UserInPath) -> None:
    """Revoke the invite of a user. A user without an invite causes no error."""
    caller = ChangeContext(call.user, optional_idempotency_key(None))
    await call.services.moderation.joins.revoke_invite(call.chat(chat), caller, user)


@router.get(
    "/invites",
    **route_options(
        "list_invites", Code.CURSOR_INVALID, touches=("chats.list_invites",), summary="List invites"
    ),
)
async def list_invites(call: AsUser, asked: Annotated[PageParams, Query()]) -> InvitesResponse:
    """List the user's invites, by chat id."""
    cursors = call.cursors.of(call.tenant, call.user, "invites")
    after = cursors.read(asked.cursor)
    found, last = await call.services.moderation.joins.invites(
        call.tenant, call.user, None if after is None else ChatId(after), asked.limit
    )
    return InvitesResponse(invites=[InviteResponse.of(each) for each in found], cursor=cursors.write(last))


@router.post(
    "/invites/{chat}/accept",
    **route_options(
        "accept_invite",
        *OF_CHANGES,
        *_JOIN,
        Code.INVITE_NOT_FOUND,
        touches=(
            "chats.accept_invite",
            "chats.check_invite",
            "chats.delete_invite",
            "users.find_erased",
            *_CHANGE,
        ),
        status_code=204,
        summary="Accept an invite",
    ),
)
async def accept_invite(call: AsUser, chat: ChatInPath, key: IdempotencyKeyHeader = None) -> None:
    """Join the group of an invite. A member causes no error."""
    caller = ChangeContext(call.user, optional_idempotency_key(key))
    await call.services.moderation.joins.accept(call.chat(chat), caller)


@router.delete(
    "/invites/{chat}",
    **route_options(
        "decline_invite",
        Code.INVITE_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        touches=("chats.check_invite", "chats.delete_invite"),
        status_code=204,
        summary="Decline an invite",
    ),
)
async def decline_invite(call: AsUser, chat: ChatInPath) -> None:
    """Delete an invite."""
    await call.services.moderation.joins.decline(call.chat(chat), call.user)
