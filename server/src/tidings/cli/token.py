"""`tidings token mint | check`."""

import asyncio
import sys
from typing import TextIO

import click
from joserfc.errors import JoseError

from tidings.accounts.api_keys import PREFIX
from tidings.accounts.credentials import is_access_token
from tidings.accounts.jwt import sign_jws, user_claims
from tidings.accounts.model import Principal
from tidings.accounts.rules import CredentialRejectedError, check_device_id, check_user_id
from tidings.accounts.signing_keys import BadKeyError
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import open_accounts
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import DURATION, echo
from tidings.cli.tenant_keys import read_jwk
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.protected_rows import AuthenticatedRows


@click.group(name="token")
def group() -> None:
    """Tokens of users: mint one for a test, or check why one is refused."""


@group.command()
@click.option("--tenant", required=True)
@click.option("--user", required=True)
@click.option("--key", "file", required=True, type=click.File(), help="The private JWK; - for stdin.")
@click.option("--for", "life_s", type=DURATION, default="1h", show_default=True)
@click.option("--audience", default="tidings", show_default=True)
@click.option("--device")
def mint(*, tenant: str, user: str, file: TextIO, life_s: int, audience: str, device: str | None) -> None:
    """Sign a token as the tenant's own server would. For tests: nothing is looked up."""
    now_s = SystemClock().now_ms() // 1000
    claims = user_claims(tenant, check_user_id(user), now_s=now_s, life_s=life_s, audience=audience)
    if device is not None:
        claims["device"] = check_device_id(device)
    try:
        echo(sign_jws(claims, read_jwk(file)))
    except (BadKeyError, JoseError, ValueError) as error:
        raise TidingsError(Code.REQUEST_INVALID, f"This key can't sign: {error}.") from error


@group.command()
@click.argument("token")
def check(token: str) -> None:
    """Show the user of TOKEN, or why it is refused. `-` reads it from stdin, so that the shell does not store it."""
    text = (sys.stdin.read() if token == "-" else token).strip()  # noqa: S105 - the dash is no password
    try:
        principal = asyncio.run(_examine(text))
    except CredentialRejectedError as refused:
        code = Code.CREDENTIAL_EXPIRED if refused.is_expired else Code.CREDENTIAL_INVALID
        raise TidingsError(code, f"refused: {refused.reason}") from refused
    _show(principal)


async def _examine(text: str) -> Principal:
    settings, clock = load().settings, SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as ring,
        open_accounts(settings.accounts, client, clock, AuthenticatedRows(ring)) as accounts,
    ):
        if text.startswith(PREFIX):
            return await accounts.api_keys.examine(text)
        if is_access_token(text):
            raise CredentialRejectedError(
                "it is an access token of Tidings itself; this command knows users' tokens"
            )
        return await accounts.users.examine(text)


def _show(principal: Principal) -> None:
    echo(f"ok: tenant {principal.tenant}")
    if principal.user is None:
        echo(f"API key of a server, may do: {', '.join(sorted(principal.scopes)) or 'nothing'}")
        return
    echo(f"user {principal.user}" + (f", device {principal.device}" if principal.device else ""))
    if principal.expires_at_ms is not None:
        echo(f"until {format_ms(principal.expires_at_ms)}")
