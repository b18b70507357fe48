"""Search in messages."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from tidings.api.auth import AsUser, AuthenticatedRoute
from tidings.api.entry_json import search_response
from tidings.api.openapi import route_options
from tidings.api.rate_limits import charge_search
from tidings.api.schemas.search import SearchParams, SearchResponse
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["messages"])


@router.get(
    "/search",
    **route_options(
        "search_messages",
        Code.CURSOR_INVALID,
        Code.SEARCH_OFF,
        Code.KEYS_UNAVAILABLE,
        touches=(
            "chat_list.read",
            "memberships.check",
            "memberships.list",
            "messages.read_one",
            "messages.read_ephemeral",
            "tenants.list_data_keys",
            "user_keys.read",
            "user_keys.confirm",
        ),
        response_model=SearchResponse,
        summary="Search messages",
    ),
)
async def search_messages(call: AsUser, asked: Annotated[SearchParams, Query()]) -> Response:
    """Find messages that the user may read, newest first.

    New messages are found after some seconds. A message that was edited, redacted or has expired is never found by its
    former words.
    """
    query = asked.to_query()
    cursors = call.cursors.of(call.tenant, call.user, "search", query)
    below = cursors.read(asked.cursor)
    await charge_search(call.services.limits, call.tenant, call.user)
    page = await call.services.search.search(
        call.tenant, call.user, query, limit=asked.limit, below=None if below is None else int(below)
    )
    return search_response(page, call.user, cursors.write(None if page.below is None else str(page.below)))
