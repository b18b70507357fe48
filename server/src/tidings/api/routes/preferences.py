"""The channels that a user's notifications take: for the user, and for a tenant's server."""

from fastapi import APIRouter

from tidings.api.auth import AsNotificationsServer, AsUser, AuthenticatedRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.routes.notifications import inbox_key
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.notifications import InboxInPath
from tidings.api.schemas.preferences import ChangePreferencesBody, PreferencesResponse
from tidings.inboxes.model import InboxKey
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["preferences"])

_READ = ("inbox.read_config", "inbox.read_preferences")
_OF_CHANGES = (*OF_BODIES, Code.INBOX_NOT_FOUND, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT)


@router.get(
    "/inboxes/{inbox}/preferences",
    **route_options(
        "get_preferences", Code.INBOX_NOT_FOUND, touches=_READ, summary="Get your preferences of an inbox"
    ),
)
async def get_preferences(call: AsUser, inbox: InboxInPath) -> PreferencesResponse:
    """Get the channels that the user's notifications take, for each category of the inbox."""
    return PreferencesResponse.of(await call.services.notifications.preferences.read(inbox_key(call, inbox)))


@router.patch(
    "/inboxes/{inbox}/preferences",
    **route_options(
        "change_preferences",
        *_OF_CHANGES,
        touches=(*_READ, "inbox.write_preferences"),
        summary="Change your preferences of an inbox",
    ),
)
async def change_preferences(
    call: AsUser, inbox: InboxInPath, body: ChangePreferencesBody
) -> PreferencesResponse:
    """Switch channels on or off, for all categories or single ones. Choices that are not given stay as they are.

    A change applies to notifications that are delivered afterwards, and to all broadcasts.
    """
    changed = await call.services.notifications.preferences.change(inbox_key(call, inbox), *body.to_changes())
    return PreferencesResponse.of(changed)


@router.get(
    "/inboxes/{inbox}/users/{user}/preferences",
    **route_options(
        "get_user_preferences", Code.INBOX_NOT_FOUND, touches=_READ, summary="Get a user's preferences"
    ),
)
async def get_user_preferences(
    call: AsNotificationsServer, inbox: InboxInPath, user: UserInPath
) -> PreferencesResponse:
    """Get the channels that a user's notifications take, for each category of the inbox."""
    found = await call.edge.services.notifications.preferences.read(InboxKey(call.tenant, user, inbox))
    return PreferencesResponse.of(found)


@router.patch(
    "/inboxes/{inbox}/users/{user}/preferences",
    **route_options(
        "change_user_preferences",
        *_OF_CHANGES,
        touches=(*_READ, "inbox.write_preferences"),
        summary="Change a user's preferences",
    ),
)
async def change_user_preferences(
    call: AsNotificationsServer, inbox: InboxInPath, user: UserInPath, body: ChangePreferencesBody
) -> PreferencesResponse:
    """Switch channels of a user on or off, for example to import choices from another system."""
    changed = await call.edge.services.notifications.preferences.change(
        InboxKey(call.tenant, user, inbox), *body.to_changes()
    )
    return PreferencesResponse.of(changed)
