"""`tidings tenant create | list | show | set | rotate-content-key | rotate-access-key | rewrap-keys | export | delete | deletion | approve-deletion | reject-deletion | key … | api-key …`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypedDict, Unpack

import click
from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import signing_policy
from tidings.app.wiring.engine_clients import make_kms, open_key_ring, open_tables, read_existing_tenant
from tidings.app.wiring.options import PERIODS_S
from tidings.cli import tenant_data
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.cli.tenant_keys import api_key, key
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.key_ring import INSTALLATION, KeyRewrapper, RewrapResult
from tidings.tenants.model import MAX_MEMBERS, Tenant, TenantSettings, TokenSettings
from tidings.tenants.rate_settings import RateLimit, RateOverrides
from tidings.tenants.settings import TenantService
from tidings.tenants.signing_key_ring import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore

_DEFAULT = "default"
_NONE = "none"
_FAILURES_SHOWN = 10


@click.group(name="tenant")
def group() -> None:
    """Tenants: settings, keys and API keys."""


group.add_command(key)
group.add_command(api_key)
for _command in tenant_data.COMMANDS:
    group.add_command(_command)


class _TenantOptions(TypedDict):
    name: str | None
    audience: tuple[str, ...]
    jwks_url: str | None
    skew_s: int | None
    issuer: str | None
    typ: str | None
    phone_login: bool | None
    phone_prefix: tuple[str, ...]
    find_by_phone: bool | None
    push_previews: bool | None
    max_members: int | None
    erasure_approval: bool | None
    rate: tuple[str, ...]


_SETTABLE: Final = (
    click.option("--name", help="A name for people.  [default: the id]"),
    click.option("--audience", multiple=True, help="An accepted `aud` of tokens; may be repeated."),
    click.option("--jwks-url", help="Where the tenant publishes its keys; `none` removes it."),
    click.option("--skew-s", type=int, help="How far clocks may disagree, at most 300 s."),
    click.option("--issuer", help="Tokens must have this `iss`; `none` accepts any."),
    click.option("--typ", help="Tokens must have this `typ` in their header; `none` accepts any."),
    click.option("--phone-login/--no-phone-login", default=None, help="Users may log in by phone code."),
    click.option(
        "--phone-prefix",
        multiple=True,
        metavar="+49",
        help="Codes are sent to numbers with one of these prefixes only; replaces the list. `none` empties it.",
    ),
    click.option(
        "--find-by-phone/--no-find-by-phone",
        default=None,
        help="Users may find each other by phone number.",
    ),
    click.option(
        "--push-previews/--no-push-previews",
        default=None,
        help="Events of the topic `offline` contain the beginning of a message.",
    ),
    click.option(
        "--max-members",
        type=click.IntRange(2, MAX_MEMBERS),
        help="Members of a group, at most 100000.  [default: 1000]",
    ),
    click.option(
        "--erasure-approval/--no-erasure-approval",
        default=None,
        help="Erasures of users and the deletion of the tenant need a second approver.",
    ),
    click.option(
        "--rate",
        multiple=True,
        metavar="LIMIT=RATE/BURST",
        help="`user=20/100` or `code=100/h/50` instead of the installation's own; for tenant, user, address, "
        "chat (chats that a user creates) and code (SMS codes of the tenant). `user=default` takes it back.",
    ),
)
"""The options that `create` and `set` share."""


def _settable(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_SETTABLE):
        command = option(command)
    return command


@group.command()
@click.argument("tenant")
@_settable
def create(tenant: str, **given: Unpack[_TenantOptions]) -> None:
    """Create TENANT. The id has a-z, 0-9 and -, is part of every key and never changes."""
    settings = _changed(TenantSettings(name=given["name"] or tenant), given)
    _show(asyncio.run(_with_tenants(lambda tenants: tenants.create(tenant, settings))))


@group.command()
@click.argument("tenant")
def show(tenant: str) -> None:
    """Show the settings of TENANT."""
    _show(asyncio.run(_with_tenants(lambda tenants: tenants.read(tenant))))


@group.command(name="list")
def list_() -> None:
    """List the ids of all tenants."""
    for tenant in asyncio.run(_with_tenants(lambda tenants: tenants.list())):
        echo(tenant)


@group.command(name="set")
@click.argument("tenant")
@_settable
def set_(tenant: str, **given: Unpack[_TenantOptions]) -> None:
    """Change the given settings. They apply everywhere within `accounts.tenant_refresh_s`."""

    def change(settings: TenantSettings) -> TenantSettings:
        return _changed(settings, given)

    _show(asyncio.run(_with_tenants(lambda tenants: tenants.change(tenant, change))))


@group.command(name="rotate-content-key")
@click.argument("tenant")
def rotate_content_key(tenant: str) -> None:
    """Encrypt new content of TENANT with a new key. Stored content is not changed and stays readable."""
    version = asyncio.run(_rotate(tenant))
    within_s = load().settings.encryption.refresh_s
    echo(f"ok: content key {version} is in use everywhere within {within_s:g} s")


@group.command(name="rotate-access-key")
@click.argument("tenant")
def rotate_access_key(tenant: str) -> None:
    """Sign TENANT's access tokens with a new key, for example after a security incident.

    The new key signs once every process has read it; tokens of the old key are accepted until they expire.
    """
    version, policy = asyncio.run(_rotate_access(tenant))
    echo(
        f"ok: access key {version} signs within {policy.announced_s:g} s; "
        f"tokens of the old one are refused {policy.token_life_s:g} s later"
    )


@group.command(name="rewrap-keys")
@click.argument("tenant", nargs=-1)
def rewrap_keys(tenant: tuple[str, ...]) -> None:
    """Wrap data keys with the present master key instead of a former one; without TENANT, those of the installation.

    No data key and no stored content changes. A repeat continues where an interrupted run stopped.
    """
    done = asyncio.run(_rewrap(tenant))
    echo(f"{done.rewrapped} keys rewrapped, {done.present} were wrapped by the present master key before")
    if done.failed:
        raise TidingsError(
            Code.KEYS_UNAVAILABLE,
            f"{len(done.failed)} keys were not rewrapped: {'; '.join(done.failed[:_FAILURES_SHOWN])}",
            hint="Name the master key that wrapped them as the former one in [encryption], and repeat. Keep every "
            "former key until then.",
        )


async def _rewrap(names: tuple[str, ...]) -> RewrapResult:
    settings, clock = load().settings, SystemClock()
    async with (
        open_tables(settings.dynamo) as client,
        make_kms(settings) as kms,
        open_key_ring(settings, client, clock) as ring,
    ):
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock)
        known = [(await tenants.read(name)).id for name in names] or [INSTALLATION, *await tenants.list()]
        return await KeyRewrapper(DynamoKeyStore(client), kms).rewrap(known)


async def _rotate_access(tenant: str) -> tuple[int, SigningPolicy]:
    settings, clock = load().settings, SystemClock()
    policy = signing_policy(settings)
    known = await _with_tenants(lambda tenants: tenants.read(tenant))
    async with open_tables(settings.dynamo) as client, make_kms(settings) as kms:
        return await SigningKeyRing(DynamoKeyStore(client), kms, clock, policy).rotate(known.id), policy


async def _rotate(tenant: str) -> int:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        known = await TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock).read(tenant)
        return await ring.rotate(known.id)


async def _with_tenants[T](act: Callable[[TenantService], Awaitable[T]]) -> T:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        return await act(TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock))


def _changed(settings: TenantSettings, given: _TenantOptions) -> TenantSettings:
    tokens = settings.tokens
    return replace(
        settings,
        name=given["name"] or settings.name,
        tokens=TokenSettings(
            audiences=given["audience"] or tokens.audiences,
            jwks_url=tokens.jwks_url if given["jwks_url"] is None else _url(given["jwks_url"]),
            skew_s=tokens.skew_s if given["skew_s"] is None else given["skew_s"],
            issuer=_or_none(given["issuer"], tokens.issuer),
            typ=_or_none(given["typ"], tokens.typ),
        ),
        has_phone_login=settings.has_phone_login if given["phone_login"] is None else given["phone_login"],
        phone_prefixes=_prefixes(settings.phone_prefixes, given["phone_prefix"]),
        has_phone_search=settings.has_phone_search
        if given["find_by_phone"] is None
        else given["find_by_phone"],
        rates=_rates(settings.rates, given["rate"]),
        push=settings.push
        if given["push_previews"] is None
        else replace(settings.push, has_previews=given["push_previews"]),
        max_members=given["max_members"] or settings.max_members,
        has_erasure_approval=settings.has_erasure_approval
        if given["erasure_approval"] is None
        else given["erasure_approval"],
    )


def _or_none(given: str | None, before: str | None) -> str | None:
    return before if given is None else None if given == "none" else given


def _prefixes(prefixes: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        return prefixes
    return () if given == (_NONE,) else tuple(sorted(set(given)))


def _url(text: str) -> str | None:
    if text == _NONE:
        return None
    if fault := check_url(text, NetworkPolicy(load().settings.accounts.jwks_network)):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"This JWKS URL can't be used: {fault}.",
            hint="The setting accounts.jwks_network limits the addresses.",
        )
    return text


def _rates(rates: RateOverrides, given: tuple[str, ...]) -> RateOverrides:
    for text in given:
        whom, _, rate = text.partition("=")
        try:
            rates = replace(rates, **{whom: _rate(rate)})
        except (ValueError, TypeError, KeyError) as error:
            raise TidingsError(
                Code.REQUEST_INVALID, f"{text!r} is not a rate like user=20/100 or code=100/h/50."
            ) from error
    return rates


def _rate(text: str) -> RateLimit | None:
    if text == _DEFAULT:
        return None
    rate, _, burst = text.rpartition("/")
    count, _, period = rate.partition("/")
    return RateLimit(per_s=float(count) / PERIODS_S[period or "s"], burst=int(burst))


def _show(tenant: Tenant) -> None:
    settings, tokens = tenant.settings, tenant.settings.tokens
    table = SafeTable()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("tenant", tenant.id)
    table.add_row("name", settings.name)
    table.add_row("audiences", ", ".join(tokens.audiences))
    table.add_row("JWKS URL", tokens.jwks_url or "-")
    table.add_row("clock skew", f"{tokens.skew_s} s")
    table.add_row("issuer", tokens.issuer or "any")
    table.add_row("typ", tokens.typ or "any")
    table.add_row("phone login", "on" if settings.has_phone_login else "off")
    table.add_row("phone prefixes", ", ".join(settings.phone_prefixes) or "none: no code is sent")
    table.add_row("find by phone", "on" if settings.has_phone_search else "off")
    table.add_row("push previews", "on" if settings.push.has_previews else "off")
    table.add_row("search in messages", "on" if settings.has_search else "off")
    table.add_row("members of a group", f"at most {settings.max_members}")
    table.add_row("second approver", "of erasures" if settings.has_erasure_approval else "off")
    for limit in RateOverrides.__struct_fields__:
        rate: RateLimit | None = getattr(settings.rates, limit)
        said = "installation default" if rate is None else f"{rate.per_s:g}/s, {rate.burst} at once"
        table.add_row(f"rate per {limit}", said)
    table.add_row("version", f"{tenant.version}, of {format_ms(tenant.updated_at_ms)}")
    SafeConsole().print(table)


_NOT_FOUND = frozenset(
    {
        Code.USER_NOT_FOUND,
        Code.INBOX_NOT_FOUND,
        Code.JOB_NOT_FOUND,
        Code.NOTIFICATION_NOT_FOUND,
        Code.SEGMENT_NOT_FOUND,
    }
)


@asynccontextmanager
async def explain_missing_tenant(settings: Settings, client: DynamoClient) -> AsyncIterator[None]:
    """Look for the command's TENANT once something in it was not found; raise for the tenant if it does not exist."""
    try:
        yield
    except TidingsError as error:
        context = click.get_current_context(silent=True)
        tenant = context.params.get("tenant") if context else None
        if error.code in _NOT_FOUND and tenant:
            await require_tenant(settings, client, TenantId(tenant))
        raise


async def require_tenant(settings: Settings, client: DynamoClient, tenant: TenantId) -> None:
    """Raise `request_invalid` if the tenant does not exist. Creates no keys."""
    async with open_key_ring(settings, client, SystemClock()) as ring:
        await read_existing_tenant(client, ring, tenant)
