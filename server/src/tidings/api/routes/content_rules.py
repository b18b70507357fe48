"""The words and links that a tenant refuses or masks."""

from fastapi import APIRouter

from tidings.api.auth import AsModerationServer, AuthenticatedRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.moderation import ContentRulesBody
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1/content-rules", route_class=AuthenticatedRoute, tags=["content rules"])


@router.get(
    "",
    **route_options(
        "get_content_rules",
        Code.KEYS_UNAVAILABLE,
        touches=("tenants.read_settings",),
        summary="Get the lists of words and links",
    ),
)
async def get_content_rules(call: AsModerationServer) -> ContentRulesBody:
    """Get the words and domains that messages and edits must not contain."""
    return ContentRulesBody.of(await call.edge.services.moderation.content_rules.read(call.tenant))


@router.put(
    "",
    **route_options(
        "set_content_rules",
        *OF_BODIES,
        Code.KEYS_UNAVAILABLE,
        Code.OUTCOME_UNKNOWN,
        Code.WRITE_CONFLICT,
        touches=("tenants.read_settings", "tenants.update_settings"),
        summary="Set the lists of words and links",
    ),
)
async def set_content_rules(call: AsModerationServer, body: ContentRulesBody) -> ContentRulesBody:
    """Replace the lists. Processes use them within 30 seconds, before the before-send hook.

    Whole words are compared, without case and accents: `darn` is not found in `darned`. A domain includes its
    subdomains. Empty lists remove all.
    """
    await call.edge.services.moderation.content_rules.set(call.tenant, body.rules())
    return body
