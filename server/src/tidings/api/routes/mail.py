"""E-mail: templates and results for a tenant's server, reports of bounces, and links to unsubscribe."""

import html
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from tidings.api.auth import AsNotificationsServer, AuthenticatedRoute, PublicRoute, api_context
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.api_model import UserInPath
from tidings.api.schemas.mail import (
    BounceBody,
    BouncedUserResponse,
    MailConfigBody,
    MailConfigResponse,
    MailResultsParams,
    MailResultsResponse,
)
from tidings.api.schemas.notifications import InboxInPath
from tidings.inboxes.mail.model import MailReference
from tidings.inboxes.model import InboxKey
from tidings.kernel.errors import Code

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["email"])
public_router = APIRouter(prefix="/v1", route_class=PublicRoute, tags=["email"])

_READ = ("inbox.read_config", "inbox.read_mail_config")
_KEYS = ("tenants.list_data_keys", "tenants.put_data_key", "tenants.read_settings")
_OF_LINKS = (Code.CREDENTIAL_INVALID, Code.KEYS_UNAVAILABLE, Code.INBOX_NOT_FOUND)
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    # The link is a credential.
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}

Token = Annotated[str, Query(max_length=1024, description="The signed token of the link.")]


@router.get(
    "/inboxes/{inbox}/email",
    **route_options("get_email", Code.INBOX_NOT_FOUND, touches=_READ, summary="Get the mails of an inbox"),
)
async def get_email(call: AsNotificationsServer, inbox: InboxInPath) -> MailConfigResponse:
    """Get sender name and templates of the mails of an inbox."""
    return MailConfigResponse.of(await call.edge.services.notifications.mail.read(call.tenant, inbox))


@router.put(
    "/inboxes/{inbox}/email",
    **route_options(
        "set_email",
        *OF_BODIES,
        Code.INBOX_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        Code.WRITE_CONFLICT,
        touches=(*_READ, "inbox.write_mail_config"),
        summary="Set the mails of an inbox",
    ),
)
async def set_email(
    call: AsNotificationsServer, inbox: InboxInPath, body: MailConfigBody
) -> MailConfigResponse:
    """Replace sender name and templates of the mails of an inbox. A change applies within 5 seconds."""
    mail = call.edge.services.notifications.mail
    return MailConfigResponse.of(await mail.set(call.tenant, inbox, body.to_config()))


@router.get(
    "/inboxes/{inbox}/users/{user}/emails",
    **route_options(
        "list_user_emails",
        Code.INBOX_NOT_FOUND,
        touches=("inbox.read_config", "inbox.list_mails"),
        summary="List the mails to a user",
    ),
)
async def list_user_emails(
    call: AsNotificationsServer,
    inbox: InboxInPath,
    user: UserInPath,
    asked: Annotated[MailResultsParams, Query()],
) -> MailResultsResponse:
    """List what happened to the mails of a user's notifications: sent, skipped and why, tried again, or failed."""
    mail = call.edge.services.notifications.mail
    return MailResultsResponse.of(await mail.results(InboxKey(call.tenant, user, inbox), asked.limit))


@router.post(
    "/email/bounces",
    **route_options(
        "report_bounce",
        *OF_BODIES,
        Code.NOTIFICATION_NOT_FOUND,
        Code.OUTCOME_UNKNOWN,
        Code.KEYS_UNAVAILABLE,
        touches=("users.confirm", "users.refuse_email", "user_keys.confirm", *_KEYS),
        summary="Report a bounced mail",
    ),
)
async def report_bounce(call: AsNotificationsServer, body: BounceBody) -> BouncedUserResponse:
    """Turn off the address of a mail that bounced or was reported as spam, until the user has another address.

    Call it from the handler of your mail provider's webhook. Repeating a report is safe.
    """
    mail = call.edge.services.notifications.mail
    user = await mail.refuse(call.tenant, body.message_id, body.to_refusal())
    return BouncedUserResponse(user_id=user)


@public_router.get(
    "/email/unsubscribe",
    response_class=HTMLResponse,
    # Pages for people and mail clients, whose addresses are in mails. The document describes the API in JSON.
    include_in_schema=False,
    **route_options(
        "show_unsubscribe",
        *_OF_LINKS,
        touches=("inbox.read_config", *_KEYS),
        is_open=True,
        summary="Show the page to unsubscribe",
    ),
)
async def show_unsubscribe(request: Request, token: Token) -> HTMLResponse:
    """Show a page with a button. Opening the link changes nothing: scanners of mail servers open it too."""
    services = api_context(request).services.notifications
    reference = await services.mail.unsubscribed_from(token)
    action = f"?token={html.escape(token)}"
    button = f'<form method="post" action="{action}"><button>Unsubscribe</button></form>'
    return _page(f"Receive no more mails from {await _source(request, reference)}?", button)


@public_router.post(
    "/email/unsubscribe",
    response_class=HTMLResponse,
    include_in_schema=False,
    **route_options(
        "unsubscribe",
        *_OF_LINKS,
        Code.REQUEST_INVALID,
        Code.WRITE_CONFLICT,
        Code.OUTCOME_UNKNOWN,
        touches=("inbox.read_config", "inbox.read_preferences", "inbox.write_preferences", *_KEYS),
        is_open=True,
        summary="Unsubscribe with one click",
    ),
)
async def unsubscribe(request: Request, token: Token) -> HTMLResponse:
    """Switch e-mail off for the category of the mail (RFC 8058). Mail clients send this request; the body is ignored."""
    reference = await api_context(request).services.notifications.mail.unsubscribe(token)
    return _page(f"You receive no more mails from {await _source(request, reference)}.", "")


async def _source(request: Request, reference: MailReference) -> str:
    known = api_context(request).services.notifications.known
    inbox = await known.of(reference.inbox_key.tenant, reference.inbox_key.inbox)
    return html.escape(f"{inbox.title}: {reference.detail}" if reference.detail else inbox.title)


def _page(text: str, form: str) -> HTMLResponse:
    """Return a page. `text` and `form` are escaped."""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>Unsubscribe</title><style>body{font:1rem/1.5 system-ui;max-width:30rem;margin:15vh auto;padding:0 1rem}"
        "button{font:inherit;padding:.5rem 1rem}</style>"
        f"<h1>Unsubscribe</h1><p>{text}</p>{form}</html>",
        headers=_SAFE,
    )
