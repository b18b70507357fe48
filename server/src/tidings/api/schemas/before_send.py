"""Schemas of the before-send hook."""

from typing import Annotated, Literal, Self

from pydantic import Field

from tidings.api.schemas.api_model import ApiModel, with_examples
from tidings.api.schemas.webhooks import ENDPOINT_ID, Url
from tidings.tenants.model import BeforeSendSettings
from tidings.webhooks.model import Endpoint


class BeforeSendBody(ApiModel):
    """The before-send hook. It receives each message and each edit before they are stored."""

    model_config = with_examples(
        {"url": "https://app.example/moderate", "timeout_ms": 1000, "on_failure": "allow"}
    )

    url: Url
    timeout_ms: Annotated[
        int, Field(ge=50, le=5_000, description="How long a sender waits for the hook.")
    ] = 1_000
    on_failure: Annotated[
        Literal["allow", "refuse"],
        Field(description="What happens to a message if the hook does not answer in time."),
    ] = "allow"


class BeforeSendResponse(ApiModel):
    model_config = with_examples(
        {
            "endpoint": ENDPOINT_ID,
            "url": "https://app.example/moderate",
            "timeout_ms": 1000,
            "on_failure": "allow",
        }
    )

    endpoint: Annotated[str, Field(description="The endpoint with the URL and the secret.")]
    url: str
    timeout_ms: int
    on_failure: Literal["allow", "refuse"]
    secret: Annotated[str | None, Field(description="Only in the answer that creates the hook.")] = None

    @classmethod
    def of(cls, endpoint: Endpoint, hook: BeforeSendSettings, *, has_secret: bool = False) -> Self:
        return cls(
            endpoint=endpoint.name.id,
            url=endpoint.settings.url,
            timeout_ms=hook.timeout_ms,
            on_failure=hook.on_failure,
            secret=endpoint.secrets[0].value.reveal() if has_secret else None,
        )
