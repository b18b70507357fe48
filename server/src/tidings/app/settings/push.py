"""Settings of push notifications."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Url = Annotated[str, Meta(pattern=r"^https://[^\s/]+$")]


class PushSettings(Struct, frozen=True, kw_only=True):
    """Push notifications, `tidings run push`. Credentials belong to tenants: `tidings push`."""

    network: Annotated[
        Literal["public", "private", "local"],
        Meta(
            description="Which addresses push services of browsers and tenants' own push services may have. As "
            "`accounts.jwks_network`."
        ),
    ] = "public"
    timeout_s: Annotated[float, Meta(description="Timeout of a request to a push provider.", gt=0, le=60)] = (
        10.0
    )
    first_retry_s: Annotated[
        float,
        Meta(
            description="How long after a failed attempt the second one is made. Each later wait is twice as long, up to "
            "60 times this value.",
            ge=0.1,
            le=60,
        ),
    ] = 5.0
    apns_url: Annotated[Url, Meta(description="Apple's push service.")] = "https://api.push.apple.com"
    apns_sandbox_url: Annotated[Url, Meta(description="Apple's push service for development.")] = (
        "https://api.sandbox.push.apple.com"
    )
    fcm_url: Annotated[Url, Meta(description="Firebase Cloud Messaging.")] = "https://fcm.googleapis.com"
