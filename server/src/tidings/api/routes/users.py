"""Users: one's own profile, the others' names; and what the tenant's server does with its users."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.auth import AsDirectoryReader, AsUser, AsUsersServer, AuthenticatedRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.rate_limits import charge_number
from tidings.api.schemas.accounts import (
    CreateUserBody,
    DirectoryParams,
    DirectoryResponse,
    FindUserBody,
    OwnProfile,
    PresenceResponse,
    SessionResponse,
    SessionsResponse,
    UpdateProfileBody,
    UserResponse,
    UsersParams,
    UsersResponse,
)
from tidings.api.schemas.api_model import UserInPath
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["users"])

_UNKNOWN, _UNSURE = Code.USER_NOT_FOUND, Code.OUTCOME_UNKNOWN


@router.get("/me", **route_options("get_me", touches=("users.read",), summary="Get your own profile"))
async def get_me(call: AsUser) -> UserResponse:
    """A user without a profile gets their id alone."""
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
        touches=("users.update",),
        summary="Update your own profile",
    ),
)
async def update_me(call: AsUser, body: OwnProfile) -> UserResponse:
    user = await call.services.users.update(call.tenant, call.user, body.change())
    if body.changes_visibility:
        await call.services.visibility.changed(call.tenant, call.user)
    return UserResponse.of(user, with_phone=True)


@router.get(
    "/users/{user}",
    **route_options("get_user", _UNKNOWN, touches=("users.read",), summary="Get a user's profile"),
)
async def get_user(call: AsDirectoryReader, user: UserInPath) -> UserResponse:
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
    """Of users with whom one shares a chat, who do not block one and do not hide; of everybody else `offline`, and no
    more, as of somebody who is not there at all.
    """
    return PresenceResponse.of(
        user, await call.services.visibility.get_presence(call.tenant, call.user, user)
    )


@router.get(
    "/users",
    **route_options("list_users", touches=("users.read_many",), summary="Get the profiles of several users"),
)
async def list_users(call: AsDirectoryReader, asked: Annotated[UsersParams, Query()]) -> UsersResponse:
    found = await call.edge.services.users.read_many(call.tenant, list(dict.fromkeys(asked.ids)))
    shown = [UserResponse.of(user, with_phone=call.is_server) for user in found.values()]
    return UsersResponse(users=sorted(shown, key=lambda user: user.id))


@router.post(
    "/users",
    **route_options(
        "create_user",
        *OF_BODIES,
        Code.USER_EXISTS,
        Code.PHONE_TAKEN,
        _UNSURE,
        touches=("users.create", "users.create_with_phone"),
        status_code=201,
        summary="Create a user (server)",
    ),
)
async def create_user(call: AsUsersServer, body: CreateUserBody) -> UserResponse:
    """With an API key that has the scope `users`."""
    user = await call.edge.services.users.create(
        call.tenant,
        body.id,
        phone=body.phone,
        display_name=body.display_name,
        avatar_uri=body.avatar_uri,
    )
    return UserResponse.of(user, with_phone=True)


@router.post(
    "/user-search",
    **route_options(
        "find_user",
        *OF_BODIES,
        _UNKNOWN,
        Code.FORBIDDEN,
        touches=("users.find_by_phone", "users.confirm"),
        summary="Find a user by phone number",
    ),
)
async def find_user(call: AsUser, body: FindUserBody) -> UserResponse:
    """Find the user with exactly this number. The tenant must allow it (`tidings tenant set --find-by-phone`).

    A number that nobody has and a user who can't be found get the same answer: a user who has opted out
    (`phone_search` of their profile), or who is suspended. Each number counts as 20 requests, and once for the day.
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
        touches=("users.update",),
        summary="Update a user's profile (server)",
    ),
)
async def update_user(call: AsUsersServer, user: UserInPath, body: UpdateProfileBody) -> UserResponse:
    """With an API key that has the scope `users`."""
    changed = await call.edge.services.users.update(call.tenant, user, body.change())
    if body.changes_visibility:
        await call.edge.services.visibility.changed(call.tenant, user)
    return UserResponse.of(changed, with_phone=True)


@router.get(
    "/directory",
    **route_options(
        "list_directory",
        Code.CURSOR_INVALID,
        touches=("users.list_directory", "users.read_many"),
        summary="List the tenant's users (server)",
    ),
)
async def list_directory(
    call: AsUsersServer, asked: Annotated[DirectoryParams, Query()]
) -> DirectoryResponse:
    """With an API key that has the scope `users`. In no particular order, each user once.

    A user is in it from their first accepted credential, or from when they were created.
    """
    cursors = call.edge.cursors.of(call.tenant, None, "directory", asked.prefix)
    place = cursors.read(asked.cursor)
    after = None if place is None else UserId(place)
    page = await call.edge.services.users.list(call.tenant, after, asked.limit, asked.prefix)
    shown = [UserResponse.of(user, with_phone=True) for user in page.users]
    return DirectoryResponse(users=shown, cursor=cursors.write(page.after))


@router.put(
    "/users/{user}/suspension",
    **route_options(
        "suspend_user",
        _UNKNOWN,
        _UNSURE,
        touches=("users.suspend",),
        status_code=204,
        summary="Suspend a user (server)",
    ),
)
async def suspend_user(call: AsUsersServer, user: UserInPath) -> None:
    """With an API key that has the scope `users`. Every credential of the user is refused with `forbidden` and their
    sockets are closed with 4507, everywhere within 10 s.
    """
    await call.edge.services.users.suspend(call.tenant, user, is_on=True)


@router.delete(
    "/users/{user}/suspension",
    **route_options(
        "unsuspend_user",
        _UNKNOWN,
        _UNSURE,
        touches=("users.suspend",),
        status_code=204,
        summary="Unsuspend a user (server)",
    ),
)
async def unsuspend_user(call: AsUsersServer, user: UserInPath) -> None:
    """With an API key that has the scope `users`."""
    await call.edge.services.users.suspend(call.tenant, user, is_on=False)


@router.get(
    "/users/{user}/sessions",
    **route_options(
        "list_user_sessions",
        _UNKNOWN,
        touches=("sessions.list", "users.read"),
        summary="List a user's sessions (server)",
    ),
)
async def list_user_sessions(call: AsUsersServer, user: UserInPath) -> SessionsResponse:
    """With an API key that has the scope `users`."""
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
        summary="End all sessions of a user (server)",
    ),
)
async def end_user_sessions(call: AsUsersServer, user: UserInPath) -> None:
    """With an API key that has the scope `users`. Ends the sessions that began with a phone code, and refuses tokens
    that the tenant's own server issued before (`iat`), everywhere within 10 s; sockets are closed with 4506.
    """
    await call.edge.services.sessions.revoke_all(call.tenant, user)
