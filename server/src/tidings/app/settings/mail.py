"""Settings of e-mail."""

from typing import Annotated

from msgspec import Meta, Struct

from tidings.app.settings.processes import Url
from tidings.kernel.security import Secret

MailAddress = Annotated[str, Meta(pattern=r"^[^@\s<>,]+@[^@\s<>,]+$")]


class MailSettings(Struct, frozen=True, kw_only=True):
    """Notifications by e-mail. `tidings run notifications` sends them."""

    smtp_url: Annotated[
        Secret | None,
        Meta(
            description="The mail server: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. Unset: no "
            "mail is sent. With a password, `smtp://` requires STARTTLS."
        ),
    ] = None
    sender: Annotated[
        MailAddress | None,
        Meta(
            description="The address that mails come from. Its domain must allow the mail server (SPF, DKIM)."
        ),
    ] = None
    public_url: Annotated[
        Url | None,
        Meta(
            description="The address of the REST API for users, without a path. Links to unsubscribe start with it, so it "
            "needs https in production."
        ),
    ] = None
    timeout_s: Annotated[
        float, Meta(description="Timeout of each answer of the mail server.", gt=0, le=300)
    ] = 30.0
    max_connections: Annotated[
        int, Meta(description="Connections of a process to the mail server.", ge=1, le=100)
    ] = 8
