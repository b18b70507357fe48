"""Users: one's own profile, the others' names; and what the tenant's server does with its users."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.charges import charge_number
from tidings.api.documented import OF_BODIES, route
from tidings.api.door import AsLooker, AsUser, AsUsersServer, Guarded
from tidings.api.schemas.accounts import (
    DirectoryAsked,
    DirectoryShown,
    NewUser,
    NumberAsked,
    OwnProfile,
    PresenceShown,
    Profile,
    SessionShown,
    SessionsShown,
    UsersAsked,
    UserShown,
    UsersShown,
)
from tidings.api.schemas.ids import UserInPath
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId

router = APIRouter(prefix="/v1", route_class=Guarded, tags=["users"])

_UNKNOWN, _UNSURE = Code.USER_NOT_FOUND, Code.OUTCOME_UNKNOWN


@router.get("/me", **route("get_me", touches=("users.read",), summary="Get your own profile"))
async def get_me(call: AsUser) -> UserShown:
    """A user without a profile gets their id alone."""
    try:
        user = await call.services.users.read(call.tenant, call.user)
    except TidingsError as error:
        if error.code is not Code.USER_NOT_FOUND:
            raise
        return UserShown.without_profile(call.user)
    return UserShown.of(user, with_phone=True)


@router.patch(
    "/me",
    **route(
        "change_me", *OF_BODIES, _UNKNOWN, _UNSURE, touches=("users.update",), summary="Change one's profile"
    ),
)
async def change_me(call: AsUser, body: OwnProfile) -> UserShown:
    user = await call.services.users.update(call.tenant, call.user, body.change())
    if body.changes_visibility:
        await call.services.visibility.changed(call.tenant, call.user)
    return UserShown.of(user, with_phone=True)


@router.get(
    "/users/{user}", **route("get_user", _UNKNOWN, touches=("users.read",), summary="Somebody's profile")
)
async def get_user(call: AsLooker, user: UserInPath) -> UserShown:
    found = await call.edge.services.users.read(call.tenant, user)
    return UserShown.of(found, with_phone=call.is_server or call.user == user)


@router.get(
    "/users/{user}/presence",
    **route(
        "get_presence",
        touches=("chat_list.read", "users.confirm_many", "chats.find_blocks"),
        summary="Whether somebody is there",
    ),
)
async def get_presence(call: AsUser, user: UserInPath) -> PresenceShown:
    """Of users with whom one shares a chat, who do not block one and do not hide; of everybody else `offline`, and no
    more, as of somebody who is not there at all.
    """
    return PresenceShown.of(user, await call.services.visibility.look(call.tenant, call.user, user))


@router.get(
    "/users", **route("list_users", touches=("users.read_many",), summary="The profiles of these users")
)
async def list_users(call: AsLooker, asked: Annotated[UsersAsked, Query()]) -> UsersShown:
    found = await call.edge.services.users.read_many(call.tenant, list(dict.fromkeys(asked.ids)))
    shown = [UserShown.of(user, with_phone=call.is_server) for user in found.values()]
    return UsersShown(users=sorted(shown, key=lambda user: user.id))


@router.post(
    "/users",
    **route(
        "create_user",
        *OF_BODIES,
        Code.USER_EXISTS,
        Code.PHONE_TAKEN,
        _UNSURE,
        touches=("users.create", "users.create_with_phone"),
        status_code=201,
        summary="Make a user (server)",
    ),
)
async def create_user(call: AsUsersServer, body: NewUser) -> UserShown:
    """With an API key that has the scope `users`."""
    user = await call.edge.services.users.create(
        call.tenant,
        body.id,
        phone=body.phone,
        display_name=body.display_name,
        avatar_uri=body.avatar_uri,
    )
    return UserShown.of(user, with_phone=True)


@router.post(
    "/user-search",
    **route(
        "find_user",
        *OF_BODIES,
        _UNKNOWN,
        Code.FORBIDDEN,
        touches=("users.find_by_phone", "users.confirm"),
        summary="Find a user by phone number",
    ),
)
async def find_user(call: AsUser, body: NumberAsked) -> UserShown:
    """Find the user with exactly this number. The tenant must allow it (`tidings tenant set --find-by-phone`).

    A number that nobody has and a user who can't be found get the same answer: a user who has opted out
    (`phone_search` of their profile), or who is suspended. Each number counts as 20 requests, and once for the day.
    """
    await charge_number(call.services.limits, call.tenant, call.user)
    found = await call.services.find_by_phone(call.tenant, call.user, body.phone_number)
    return UserShown.of(found, with_phone=False)


@router.patch(
    "/users/{user}",
    **route(
        "change_user",
        *OF_BODIES,
        _UNKNOWN,
        _UNSURE,
        touches=("users.update",),
        summary="Change a user's profile (server)",
    ),
)
async def change_user(call: AsUsersServer, user: UserInPath, body: Profile) -> UserShown:
    """With an API key that has the scope `users`."""
    changed = await call.edge.services.users.update(call.tenant, user, body.change())
    if body.changes_visibility:
        await call.edge.services.visibility.changed(call.tenant, user)
    return UserShown.of(changed, with_phone=True)


@router.get(
    "/directory",
    **route(
        "list_directory",
        Code.CURSOR_INVALID,
        touches=("users.list_directory", "users.read_many"),
        summary="All users of the tenant, page by page (server)",
    ),
)
async def list_directory(call: AsUsersServer, asked: Annotated[DirectoryAsked, Query()]) -> DirectoryShown:
    """With an API key that has the scope `users`. In no particular order, each user once.

    A user is in it from their first accepted credential, or from when they were created.
    """
    cursors = call.edge.cursors.of(call.tenant, None, "directory", asked.prefix)
    place = cursors.read(asked.cursor)
    after = None if place is None else UserId(place)
    page = await call.edge.services.users.list(call.tenant, after, asked.limit, asked.prefix)
    shown = [UserShown.of(user, with_phone=True) for user in page.users]
    return DirectoryShown(users=shown, cursor=cursors.write(page.after))


@router.put(
    "/users/{user}/suspension",
    **route(
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
    **route(
        "unsuspend_user",
        _UNKNOWN,
        _UNSURE,
        touches=("users.suspend",),
        status_code=204,
        summary="Let a suspended user in again (server)",
    ),
)
async def unsuspend_user(call: AsUsersServer, user: UserInPath) -> None:
    """With an API key that has the scope `users`."""
    await call.edge.services.users.suspend(call.tenant, user, is_on=False)


@router.get(
    "/users/{user}/sessions",
    **route(
        "list_user_sessions",
        _UNKNOWN,
        touches=("sessions.list", "users.read"),
        summary="Where a user is logged in (server)",
    ),
)
async def list_user_sessions(call: AsUsersServer, user: UserInPath) -> SessionsShown:
    """With an API key that has the scope `users`."""
    rows = await call.edge.services.sessions.list(call.tenant, user)
    return SessionsShown(sessions=[SessionShown.of(row) for row in rows])


@router.delete(
    "/users/{user}/sessions",
    **route(
        "end_user_sessions",
        _UNKNOWN,
        _UNSURE,
        touches=("users.end_sessions", "users.confirm", "sessions.list", "sessions.revoke_many"),
        status_code=204,
        summary="Log a user out everywhere (server)",
    ),
)
async def end_user_sessions(call: AsUsersServer, user: UserInPath) -> None:
    """With an API key that has the scope `users`. Ends the sessions that began with a phone code, and refuses tokens
    that the tenant's own server issued before (`iat`), everywhere within 10 s; sockets are closed with 4506.
    """
    await call.edge.services.sessions.revoke_all(call.tenant, user)
