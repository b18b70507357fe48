"""Users: profiles, presence, search, and the tenant's directory."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.auth import AsDirectoryReader, AsUser, AsUsersServer, AuthenticatedRoute
from tidings.api.openapi import EVENTS, OF_BODIES, route_options
from tidings.api.rate_limits import charge_number
from tidings.api.schemas.accounts import (
    CreateUserBody,
    FindUserBody,
    OwnProfile,
    PresenceResponse,
    SessionResponse,
    SessionsResponse,
    UpdateUserBody,
    UserResponse,
    UsersResponse,
)
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.directory import DirectoryParams, DirectoryResponse, UsersParams
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["users"])

_UNKNOWN, _UNSURE = Code.USER_NOT_FOUND, Code.OUTCOME_UNKNOWN
_OPEN = ("user_keys.read", "user_keys.confirm")
_SEAL = (*_OPEN, "user_keys.put")


@router.get("/me", **route_options("get_me", touches=("users.read", *_OPEN), summary="Get your own profile"))
async def get_me(call: AsUser) -> UserResponse:
    """Get the user's own profile. A user without a stored profile has only an id."""
    try:
        user = await call.services.users.read(call.tenant, call.user)
    except TidingsError as error:
        if error.code is not Code.USER_NOT_FOUND:
            raise
        return UserResponse.without_profile(call.user)
    return UserResponse.of(user, with_phone=True)


@router.patch(
    "/me",
    **route_options(
        "update_me",
        *OF_BODIES,
        _UNKNOWN,
        _UNSURE,
        Code.USER_ERASED,
        touches=("users.update", *_SEAL, *EVENTS),
        summary="Update your own profile",
    ),
)
async def update_me(call: AsUser, body: OwnProfile) -> UserResponse:
    """Update the user's own profile. Fields that are not given keep their values; `null` removes a value."""
    user = await call.services.users.update(call.tenant, call.user, body.change())
    if body.changes_visibility:
        await call.services.visibility.changed(call.tenant, call.user)
    return UserResponse.of(user, with_phone=True)


@router.get(
    "/users/{user}",
    **route_options("get_user", _UNKNOWN, touches=("users.read", *_OPEN), summary="Get a user"),
)
async def get_user(call: AsDirectoryReader, user: UserInPath) -> UserResponse:
    """Get a user of the tenant. The phone number is shown only to the user and to the tenant's server."""
    found = await call.edge.services.users.read(call.tenant, user)
    return UserResponse.of(found, with_phone=call.is_server or call.user == user)


@router.get(
    "/users/{user}/presence",
    **route_options(
        "get_presence",
        touches=("chat_list.read", "users.confirm_many", "chats.find_blocks"),
        summary="Get a user's presence",
    ),
)
async def get_presence(call: AsUser, user: UserInPath) -> PresenceResponse:
    """Get the presence of a user who shares a chat with the caller.

    The answer is `offline`, without a last-seen time, for all other users, for users who have blocked the caller or
    hide their presence, and for users who do not exist.
    """
    return PresenceResponse.of(
        user, await call.services.visibility.get_presence(call.tenant, call.user, user)
    )


@router.get(
    "/users",
    **route_options("list_users", touches=("users.read_many", *_OPEN), summary="List users by id"),
)
async def list_users(call: AsDirectoryReader, asked: Annotated[UsersParams, Query()]) -> UsersResponse:
    """Get up to 100 users by id. Users that do not exist are omitted."""
    found = await call.edge.services.users.read_many(call.tenant, list(dict.fromkeys(asked.ids)))
    shown = [UserResponse.of(user, with_phone=call.is_server) for user in found.values()]
    return UsersResponse(users=sorted(shown, key=lambda user: user.id))


@router.post(
    "/users",
    **route_options(
        "create_user",
        *OF_BODIES,
        Code.USER_EXISTS,
        Code.USER_ERASED,
        Code.PHONE_TAKEN,
        _UNSURE,
        touches=("users.create", "users.create_with_phone", *_SEAL, *EVENTS),
        status_code=201,
        summary="Create a user",
    ),
)
async def create_user(call: AsUsersServer, body: CreateUserBody) -> UserResponse:
    """Create a user. Requires an API key with the scope `users`."""
    user = await call.edge.services.users.create(
        call.tenant,
        body.id,
        phone=body.phone,
        display_name=body.display_name,
        avatar_uri=body.avatar_uri,
        email=body.email,
        locale=body.locale,
    )
    return UserResponse.of(user, with_phone=True)


@router.post(
    "/user-search",
    **route_options(
        "find_user",
        *OF_BODIES,
        _UNKNOWN,
        Code.FORBIDDEN,
        touches=("users.find_by_phone", "users.confirm", *_OPEN),
        summary="Find a user by phone number",
    ),
)
async def find_user(call: AsUser, body: FindUserBody) -> UserResponse:
    """Find the user with exactly this phone number. The tenant must allow it (`tidings tenant set --find-by-phone`).

    Returns the same error for an unused number, for a user who has opted out (`phone_search`), and for a suspended
    user. Each look-up counts as 20 requests, and as one of the user's daily look-ups.
    """
    await charge_number(call.services.limits, call.tenant, call.user)
    found = await call.services.phone_directory.find(call.tenant, call.user, body.phone_number)
    return UserResponse.of(found, with_phone=False)


@router.patch(
    "/users/{user}",
    **route_options(
        "update_user",
        *OF_BODIES,
        _UNKNOWN,
        _UNSURE,
        Code.USER_ERASED,
        touches=("users.update", *_SEAL, *EVENTS),
        summary="Update a user",
    ),
)
async def update_user(call: AsUsersServer, user: UserInPath, body: UpdateUserBody) -> UserResponse:
    """Update a user's profile. Requires an API key with the scope `users`."""
    changed = await call.edge.services.users.update(call.tenant, user, body.change())
    if body.changes_visibility:
        await call.edge.services.visibility.changed(call.tenant, user)
    return UserResponse.of(changed, with_phone=True)


@router.get(
    "/directory",
    **route_options(
        "list_directory",
        Code.CURSOR_INVALID,
        touches=("users.list_directory", "users.read_many", *_OPEN),
        summary="List all users",
    ),
)
async def list_directory(
    call: AsUsersServer, asked: Annotated[DirectoryParams, Query()]
) -> DirectoryResponse:
    """List all users of the tenant, each once, in no particular order. Requires an API key with the scope `users`.

    Users appear once they are created, or at their first accepted credential.
    """
    cursors = call.edge.cursors.of(call.tenant, None, "directory", asked.prefix)
    last = cursors.read(asked.cursor)
    after = None if last is None else UserId(last)
    page = await call.edge.services.users.list(call.tenant, after, asked.limit, asked.prefix)
    shown = [UserResponse.of(user, with_phone=True) for user in page.users]
    return DirectoryResponse(users=shown, cursor=cursors.write(page.after))


@router.put(
    "/users/{user}/suspension",
    **route_options(
        "suspend_user",
        _UNKNOWN,
        _UNSURE,
        touches=("users.suspend", *EVENTS),
        status_code=204,
        summary="Suspend a user",
    ),
)
async def suspend_user(call: AsUsersServer, user: UserInPath) -> None:
    """Refuse all credentials of a user with `forbidden`. Requires an API key with the scope `users`.

    The user's connections are closed with 4507. It takes effect in all processes within 10 seconds.
    """
    await call.edge.services.users.suspend(call.tenant, user, is_on=True)


@router.delete(
    "/users/{user}/suspension",
    **route_options(
        "unsuspend_user",
        _UNKNOWN,
        _UNSURE,
        touches=("users.suspend", *EVENTS),
        status_code=204,
        summary="Lift a suspension",
    ),
)
async def unsuspend_user(call: AsUsersServer, user: UserInPath) -> None:
    """Accept the credentials of a suspended user again. Requires an API key with the scope `users`."""
    await call.edge.services.users.suspend(call.tenant, user, is_on=False)


@router.get(
    "/users/{user}/sessions",
    **route_options(
        "list_user_sessions",
        _UNKNOWN,
        touches=("sessions.list", "users.read"),
        summary="List a user's sessions",
    ),
)
async def list_user_sessions(call: AsUsersServer, user: UserInPath) -> SessionsResponse:
    """List the active sessions of a user. Requires an API key with the scope `users`."""
    rows = await call.edge.services.sessions.list(call.tenant, user)
    return SessionsResponse(sessions=[SessionResponse.of(row) for row in rows])


@router.delete(
    "/users/{user}/sessions",
    **route_options(
        "end_user_sessions",
        _UNKNOWN,
        _UNSURE,
        touches=("users.end_sessions", "users.confirm", "sessions.list", "sessions.revoke_many"),
        status_code=204,
        summary="End a user's sessions",
    ),
)
async def end_user_sessions(call: AsUsersServer, user: UserInPath) -> None:
    """End all sessions of a user, and refuse tokens that your server issued before now (`iat`).

    Requires an API key with the scope `users`. The user's connections are closed with 4506. It takes effect in all
    processes within 10 seconds.
    """
    await call.edge.services.sessions.revoke_all(call.tenant, user)
