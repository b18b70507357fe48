"""Settings of the console."""

from typing import Annotated

from msgspec import Meta, Struct

from tidings.app.settings.processes import Port, Seconds, Url
from tidings.kernel.security import Secret


class ConsoleSettings(Struct, frozen=True, kw_only=True):
    """The operator console, `tidings run console`. It also uses `api.cursor_secret` and the limits of `[api]`."""

    host: Annotated[
        str, Meta(description="The address to listen on. The load balancer terminates TLS.", min_length=1)
    ] = "127.0.0.1"
    port: Annotated[Port, Meta(description="0: any free one, named in the log.")] = 8090
    public_url: Annotated[
        Url | None,
        Meta(
            description="The address of the console in browsers, such as https://console.example.com. Unset: that of the "
            "request, for development. Required in production, and for an identity provider."
        ),
    ] = None
    bootstrap_key: Annotated[
        Secret | None,
        Meta(
            description="A key that signs in as the owner of all tenants, for the first sign-in; at least 24 characters. "
            "Remove it once an identity provider is set. `tidings dev` sets one."
        ),
    ] = None
    session_s: Annotated[
        Seconds, Meta(description="A session ends this long after its sign-in, whether it is used or not.")
    ] = 8 * 3600.0
    oidc_issuer: Annotated[
        Url | None,
        Meta(description="The issuer of an OpenID Connect provider. Unset: no sign-in by a provider."),
    ] = None
    oidc_client_id: Annotated[
        str | None, Meta(description="The client that is registered for the console.")
    ] = None
    oidc_client_secret: Annotated[
        Secret | None, Meta(description="Its secret. Unset: a public client, protected by PKCE alone.")
    ] = None
    oidc_scope: Annotated[str, Meta(description="The scopes to request.", pattern=r"(^| )openid( |$)")] = (
        "openid profile email"
    )
    oidc_name: Annotated[str, Meta(description="The text of the sign-in button.", max_length=64)] = (
        "Sign in with your identity provider"
    )
    oidc_role_claim: Annotated[
        str,
        Meta(
            description="The claim of the ID token with the role: `viewer`, `support`, `operator` or `owner`."
        ),
    ] = "tidings_role"
    oidc_tenants_claim: Annotated[
        str,
        Meta(description="The claim with the tenants, a list of ids, or `*` for all and the installation."),
    ] = "tidings_tenants"
    processes: Annotated[
        str | None,
        Meta(
            description="Admin addresses of the processes that the console shows, host:port, several with commas. "
            "`tidings dev` sets its own."
        ),
    ] = None
