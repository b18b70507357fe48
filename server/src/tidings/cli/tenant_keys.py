"""`tidings tenant key …` and `tidings tenant api-key …`. A secret is printed once, on stdout; messages go to stderr."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import click

from tidings.accounts.api_keys import ApiKeyName, ApiKeyService, IssuedApiKey
from tidings.accounts.model import Scope
from tidings.accounts.signing_keys import KeyAlgorithm, SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import open_api_keys
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import DURATION, SafeConsole, SafeTable, echo
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

ID_CHARACTERS = 26
_ONCE = "It is shown only once and not stored: save it."


@dataclass(frozen=True, slots=True)
class _KeyService:
    tenant: TenantId
    signing: SigningKeyService
    api: ApiKeyService


@asynccontextmanager
async def _open_key_service(tenant: str) -> AsyncIterator[_KeyService]:
    """Open the keys of an existing tenant."""
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        rows = AuthenticatedRows(ring)
        found = await TenantService(DynamoTenantStore(client, rows), clock).read(tenant)
        signing = SigningKeyService(DynamoSigningKeyStore(client, rows), clock)
        yield _KeyService(found.id, signing, open_api_keys(settings.accounts, client, clock, rows))


def _with_key_service[T](tenant: str, act: Callable[[_KeyService], Awaitable[T]]) -> T:
    async def run() -> T:
        async with _open_key_service(tenant) as service:
            return await act(service)

    return asyncio.run(run())


@click.group(name="key")
def key() -> None:
    """Public keys that verify the tenant's tokens."""


@key.command(name="new")
@click.argument("tenant")
@click.option("--kind", type=click.Choice(["Ed25519", "P-256"]), default="Ed25519", show_default=True)
def key_new(tenant: str, kind: KeyAlgorithm) -> None:
    """Create a key pair: print the private JWK for the customer's server, and register the public key."""
    made = _with_key_service(tenant, lambda service: service.signing.make(service.tenant, kind))
    echo(json.dumps(made.private))
    echo(f"The private key {made.key.kid} of {tenant}. {_ONCE}", err=True)


@key.command(name="add")
@click.argument("tenant")
@click.argument("file", type=click.File())
def key_add(tenant: str, file: TextIO) -> None:
    """Register the public key in FILE, a JWK from the customer."""
    jwk = read_jwk(file)
    added = _with_key_service(tenant, lambda service: service.signing.add(service.tenant, jwk))
    echo(f"ok: {added.kid} is registered")


@key.command(name="list")
@click.argument("tenant")
def key_list(tenant: str) -> None:
    """List the registered keys; keys at a JWKS URL are not listed."""
    keys = _with_key_service(tenant, lambda service: service.signing.list(service.tenant))
    table = _table("kid", "kind", "made", "not after")
    for each in keys:
        table.add_row(
            each.kid, str(each.jwk.get("crv")), format_ms(each.created_at_ms), _time(each.not_after_ms)
        )
    SafeConsole().print(table)


@key.command(name="retire")
@click.argument("tenant")
@click.argument("kid")
@click.option(
    "--in", "after_s", type=DURATION, default="0s", help="Delay: `24h` lets existing tokens expire."
)
def key_retire(tenant: str, kid: str, after_s: int) -> None:
    """Refuse tokens of KID, now or later. Its `kid` cannot be used again."""
    end_ms = SystemClock().now_ms() + after_s * 1000
    _with_key_service(tenant, lambda service: service.signing.retire(service.tenant, kid, end_ms))
    echo(f"ok: tokens of {kid} are refused after {format_ms(end_ms)}")


@click.group(name="api-key")
def api_key() -> None:
    """Manage the API keys of the tenant's servers."""


@api_key.command(name="new")
@click.argument("tenant")
@click.option("--name", required=True, help="Its purpose, for people.")
@click.option(
    "--scope", "scopes", multiple=True, required=True, type=click.Choice([scope.value for scope in Scope])
)
@click.option("--expires", "life_s", type=DURATION, help="Lifetime, such as `90d`.  [default: unlimited]")
def api_key_new(tenant: str, name: str, scopes: tuple[str, ...], life_s: int | None) -> None:
    """Issue a key. --scope may be repeated."""
    if life_s == 0:
        raise click.BadParameter("the lifetime is at least one second", param_hint="--expires")
    wanted = [Scope(scope) for scope in scopes]
    _print_key(
        _with_key_service(tenant, lambda service: service.api.issue(service.tenant, name, wanted, life_s))
    )


@api_key.command(name="rotate")
@click.argument("tenant")
@click.argument("key_id")
def api_key_rotate(tenant: str, key_id: str) -> None:
    """Issue a key with the scopes and lifetime of KEY_ID. KEY_ID works until it expires or is revoked."""
    _print_key(
        _with_key_service(tenant, lambda service: service.api.rotate(ApiKeyName(service.tenant, key_id)))
    )


@api_key.command(name="list")
@click.argument("tenant")
def api_key_list(tenant: str) -> None:
    """List the API keys, without their secrets, which are not stored."""
    table = _table("id", "name", "scopes", "issued", "expires", "last used", "revoked")
    for each in _with_key_service(tenant, lambda service: service.api.list(service.tenant)):
        times = (each.created_at_ms, each.expires_at_ms, each.last_used_at_ms, each.revoked_at_ms)
        scopes = ", ".join(sorted(each.scopes))
        table.add_row(each.name.key, each.title, scopes, *(_time(at_ms) for at_ms in times))
    SafeConsole().print(table)


@api_key.command(name="revoke")
@click.argument("tenant")
@click.argument("key_id")
def api_key_revoke(tenant: str, key_id: str) -> None:
    """Revoke KEY_ID permanently."""
    _with_key_service(tenant, lambda service: service.api.revoke(ApiKeyName(service.tenant, key_id)))
    within_s = load().settings.accounts.api_key_refresh_s
    echo(f"ok: {key_id} stops working everywhere within {within_s:g} s")


def read_jwk(file: TextIO) -> dict[str, Any]:
    try:
        jwk = json.load(file)
    except ValueError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"{file.name} is not JSON: {error}") from error
    if not isinstance(jwk, dict):
        raise TidingsError(Code.REQUEST_INVALID, f"{file.name} is not a JWK.")
    return jwk


def _table(first: str, *columns: str) -> SafeTable:
    """Print ids in full, regardless of the width of the terminal."""
    table = SafeTable()
    table.show_header = True
    table.add_column(first, no_wrap=True, min_width=ID_CHARACTERS)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print_key(issued: IssuedApiKey) -> None:
    echo(issued.text.reveal())
    echo(f"The API key {issued.key.name.key} of {issued.key.name.tenant}. {_ONCE}", err=True)


def _time(at_ms: int | None) -> str:
    return "-" if at_ms is None else format_ms(at_ms)
