"""Settings of authentication: users' tokens and keys, logins by phone, sessions."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Endpoint = Annotated[str, Meta(pattern=r"^(aws|https?://.+)$")]
SenderName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]{1,11}$")]


class AccountsSettings(Struct, frozen=True, kw_only=True):
    """Authentication: tokens, keys, phone login and sessions, and how long processes cache them. Set it the same in every process."""

    token_max_lifetime_s: Annotated[
        int,
        Meta(description="The longest lifetime of a user's token.", ge=60, le=30 * 86_400),
    ] = 86_400
    token_cache_s: Annotated[
        float,
        Meta(
            description="How long a verified token is accepted without reading keys and settings again. "
            "0: every token is verified each time.",
            ge=0,
            le=60,
        ),
    ] = 10.0
    tenant_refresh_s: Annotated[
        float, Meta(description="How soon a change of a tenant's settings applies everywhere.", gt=0, le=600)
    ] = 30.0
    api_key_refresh_s: Annotated[
        float, Meta(description="How soon a revoked API key stops working everywhere.", gt=0, le=600)
    ] = 10.0
    signing_key_refresh_s: Annotated[
        float,
        Meta(
            description="How often registered keys are read. A retired key is refused everywhere within twice this time.",
            gt=0,
            le=600,
        ),
    ] = 15.0
    jwks_refresh_s: Annotated[
        float,
        Meta(
            description="How often a tenant's JWKS URL is fetched. A removed key is refused within twice this time.",
            ge=10,
            le=3600,
        ),
    ] = 300.0
    jwks_unknown_kid_s: Annotated[
        float,
        Meta(description="Tokens with unknown keys cause one fetch per tenant in this time.", ge=1, le=600),
    ] = 30.0
    jwks_stale_s: Annotated[
        float,
        Meta(description="While the URL fails, keys are used until they are this old.", ge=60, le=86_400),
    ] = 3600.0
    jwks_timeout_s: Annotated[float, Meta(description="Timeout of a fetch.", gt=0, le=30)] = 3.0
    jwks_max_bytes: Annotated[
        int, Meta(description="Maximum size of a JWKS document.", ge=1024, le=1_048_576)
    ] = 65_536
    jwks_network: Annotated[
        Literal["public", "private", "local"],
        Meta(
            description="Which addresses JWKS URLs may have. `public`: public addresses, by https; `private`: those of "
            "private networks too; `local`: this machine too, and by plain http: for development."
        ),
    ] = "public"
    sign_up: Annotated[
        Literal["open", "closed"],
        Meta(
            description="`open`: a new number becomes a user at its first login; `closed`: codes are sent only to numbers "
            "of existing users. The answer to the client is the same."
        ),
    ] = "open"
    code_ttl_s: Annotated[int, Meta(description="How long a code is valid.", ge=60, le=3600)] = 600
    access_token_ttl_s: Annotated[
        int, Meta(description="How long an access token is valid.", ge=60, le=3600)
    ] = 600
    session_idle_days: Annotated[
        int, Meta(description="A session ends after this time without a refresh.", ge=1, le=3650)
    ] = 60
    session_max_days: Annotated[
        int,
        Meta(
            description="A session ends this long after its login, even if it is refreshed.",
            ge=1,
            le=3650,
        ),
    ] = 365
    sessions_per_user: Annotated[
        int,
        Meta(
            description="Maximum number of sessions of a user. A further login ends the session that was not "
            "refreshed for the longest time. A device that logs in again replaces its own session.",
            ge=1,
            le=1000,
        ),
    ] = 50
    session_cache_s: Annotated[
        float,
        Meta(
            description="How long a process may use what it has read of a session. One that was ended is refused "
            "within seconds in any case, because processes read revocations every 2 s.",
            gt=0,
            le=600,
        ),
    ] = 10.0
    user_cache_s: Annotated[
        float,
        Meta(
            description="How long a process may use what it has read of a user: whether they exist, are suspended or "
            "were signed out. An active user costs one read in this time and process.",
            gt=0,
            le=10,
        ),
    ] = 5.0
    sms: Annotated[
        Literal["console", "sns", "none"],
        Meta(
            description="How login codes are sent. `console`: printed, for development; `sns`: Amazon SNS (untried "
            "there); `none`: not at all, and requests for a code are answered `phone_login_off`."
        ),
    ] = "console"
    sms_text: Annotated[
        str,
        Meta(
            description="The text of the message; `{code}` is replaced by the code.",
            pattern=r"\{code\}",
            max_length=140,
        ),
    ] = "{code} is your code. Do not share it."
    sms_region: Annotated[str | None, Meta(description="With `sns`: its region, if not `dynamo.region`.")] = (
        None
    )
    sms_endpoint: Annotated[
        Endpoint, Meta(description='With `sns`: "aws", or the URL of a service with the same protocol.')
    ] = "aws"
    sms_sender_id: Annotated[
        SenderName | None,
        Meta(description="With `sns`: the sender that people see, where their country allows it."),
    ] = None
