"""`tidings push …`: credentials of push providers, and settings of a tenant's notifications. Secrets are never printed."""

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TextIO

import click
import msgspec
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.cli.output import SafeConsole, SafeTable, echo
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.push.model import PushKind
from tidings.push.notification import b64url
from tidings.push.provider_config import (
    ApnsConfig,
    ApnsKey,
    FcmConfig,
    HttpConfig,
    ProviderConfig,
    ServiceAccount,
    StoredProvider,
    VapidKey,
    WebPushConfig,
)
from tidings.push.providers.signatures import load_key
from tidings.push.providers.signed_http import SECRET_PREFIX
from tidings.push.providers_cache import PushProviderService
from tidings.push.store.providers import DynamoProviderStore
from tidings.push.texts import with_texts
from tidings.tenants.model import PushSettings, PushTexts, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_SECRET_BYTES = 32
_USED = "Workers use it within 30 seconds."

_replace_all = click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Remove former credentials. By default they stay valid behind the new ones.",
)


@dataclass(frozen=True, slots=True)
class _PushAdministration:
    tenant: TenantId
    providers: PushProviderService
    tenants: TenantService


@asynccontextmanager
async def _open(tenant: str) -> AsyncIterator[_PushAdministration]:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock)
        found = await tenants.read(tenant)
        providers = PushProviderService(DynamoProviderStore(client, ring), clock)
        yield _PushAdministration(found.id, providers, tenants)


def _administer[T](tenant: str, act: Callable[[_PushAdministration], Awaitable[T]]) -> T:
    async def run() -> T:
        async with _open(tenant) as opened:
            return await act(opened)

    return asyncio.run(run())


def _store(tenant: str, config: ProviderConfig, *, replaces: bool) -> StoredProvider:
    return _administer(
        tenant, lambda opened: opened.providers.set(opened.tenant, config, keeps_former=not replaces)
    )


@click.group(name="push")
def group() -> None:
    """Push notifications of a tenant: providers and settings."""


@group.command(name="set-apns")
@click.argument("tenant")
@click.option("--key-id", required=True, help="The id of the key, 10 characters.")
@click.option("--team-id", required=True, help="The id of your team at Apple, 10 characters.")
@click.option("--key-file", type=click.File(), required=True, help="The file AuthKey_….p8 from Apple.")
@_replace_all
def set_apns(tenant: str, key_id: str, team_id: str, key_file: TextIO, *, replaces: bool) -> None:
    """Set or rotate the key for Apple's push service."""
    pem = key_file.read()
    if not isinstance(load_key(pem), ec.EllipticCurvePrivateKey):
        raise TidingsError(Code.REQUEST_INVALID, "Apple's keys are EC keys on the curve P-256.")
    key = _valid(ApnsKey, {"key_id": key_id, "team_id": team_id, "private_key": pem})
    _store(tenant, ApnsConfig(keys=(key,)), replaces=replaces)
    echo(f"ok: {tenant} sends to Apple with the key {key_id}. {_USED}")


@group.command(name="set-fcm")
@click.argument("tenant")
@click.option(
    "--service-account", type=click.File(), required=True, help="The JSON file of a Google service account."
)
@_replace_all
def set_fcm(tenant: str, service_account: TextIO, *, replaces: bool) -> None:
    """Set or rotate the service account for Firebase Cloud Messaging."""
    try:
        account = msgspec.json.decode(service_account.read(), type=ServiceAccount)
    except msgspec.DecodeError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The file is not a service account: {error}") from None
    load_key(account.private_key)
    _store(tenant, FcmConfig(accounts=(account,)), replaces=replaces)
    echo(f"ok: {tenant} sends to the project {account.project_id}. {_USED}")


@group.command(name="set-web-push")
@click.argument("tenant")
@click.option("--subject", required=True, help="Where push services reach you: mailto:… or https://…")
@_replace_all
def set_web_push(tenant: str, subject: str, *, replaces: bool) -> None:
    """Create a key pair for browsers, and print the public key.

    A former key stays: browsers that subscribed with it are still reached. New ones subscribe with the new key.
    """
    config = _valid(WebPushConfig, {"subject": subject, "keys": [msgspec.to_builtins(new_vapid_key())]})
    stored = _store(tenant, config, replaces=replaces)
    assert isinstance(stored.config, WebPushConfig)  # noqa: S101 - it was just set
    echo(stored.config.keys[0].public_key)
    echo(f"The public key of {tenant}, for `applicationServerKey`. {_USED}", err=True)


@group.command(name="set-http")
@click.argument("tenant")
@click.option("--url", required=True, help="The https URL of your push service.")
@_replace_all
def set_http(tenant: str, url: str, *, replaces: bool) -> None:
    """Send notifications to your own push service, and print the secret that signs the requests.

    A former secret stays: requests carry a signature of each, until you call this again with --replace.
    """
    if fault := check_url(url, NetworkPolicy(load().settings.push.network)):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"The URL {url!r} is refused: {fault}.",
            hint="The setting push.network limits the addresses.",
        )
    secret = SECRET_PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode()
    _store(tenant, _valid(HttpConfig, {"url": url, "secrets": [secret]}), replaces=replaces)
    echo(secret)
    echo("The secret that verifies requests. It is shown only once: save it.", err=True)


@group.command(name="set")
@click.argument("tenant")
@click.option("--previews/--no-previews", default=None, help="Notifications contain the start of a message.")
@click.option("--private/--no-private", default=None, help="Notifications name neither sender nor text.")
@click.option(
    "--max-age", type=click.IntRange(10, 86_400), help="Seconds after which a message notifies no one."
)
@click.option(
    "--collapse-window", type=click.IntRange(0, 3_600), help="Seconds between two sounds of one chat."
)
@click.option(
    "--badge", type=click.Choice(["messages", "chats"]), help="Unit of the badge; the inbox is added."
)
def set_policy(
    tenant: str,
    *,
    previews: bool | None,
    private: bool | None,
    max_age: int | None,
    collapse_window: int | None,
    badge: str | None,
) -> None:
    """Change the settings of a tenant's notifications. Options that are not given keep their values."""

    def change(settings: TenantSettings) -> TenantSettings:
        push = settings.push
        return replace(
            settings,
            push=replace(
                push,
                has_previews=push.has_previews if previews is None else previews,
                is_private=push.is_private if private is None else private,
                max_age_s=max_age or push.max_age_s,
                collapse_window_s=push.collapse_window_s if collapse_window is None else collapse_window,
                counts_chats=push.counts_chats if badge is None else badge == "chats",
            ),
        )

    _administer(tenant, lambda opened: opened.tenants.change(tenant, change))
    echo(f"ok: {tenant} is changed. {_USED}")


@group.command(name="set-texts")
@click.argument("tenant")
@click.argument("locale")
@click.option("--new-message", help="Shown instead of the start of the message. May contain {sender}.")
@click.option("--mention", help="The title if the user is mentioned. May contain {sender}.")
@click.option("--private", help="The title in private mode.")
@click.option(
    "--notification", help="The title of an inbox's notification in private mode, or without a title."
)
@click.option("--default", "is_default", is_flag=True, help="Remove your texts of this language.")
def set_texts(
    tenant: str,
    locale: str,
    *,
    new_message: str | None,
    mention: str | None,
    private: str | None,
    notification: str | None,
    is_default: bool,
) -> None:
    """Replace the texts of notifications in a language, such as de or pt-BR.

    Texts that are not given are those of a less specific language, or the default ones.
    """
    given = PushTexts(new_message=new_message, mention=mention, private=private, notification=notification)
    if (given == PushTexts()) != is_default:
        raise TidingsError(Code.REQUEST_INVALID, "Give at least one text, or --default.")

    def change(settings: TenantSettings) -> TenantSettings:
        return replace(settings, push=with_texts(settings.push, locale, None if is_default else given))

    _administer(tenant, lambda opened: opened.tenants.change(tenant, change))
    echo(f"ok: {tenant} has {'the default' if is_default else 'new'} texts for {locale}. {_USED}")


@group.command(name="show")
@click.argument("tenant")
def show(tenant: str) -> None:
    """Show the providers of a tenant, without their secrets, and its texts."""
    found, stored = _administer(tenant, _read)
    table = SafeTable("provider", "credentials, newest first", "changed")
    for kind, provider in sorted(found.items()):
        table.add_row(
            kind.value, "\n".join(_credential_names(provider.config)), format_ms(provider.updated_ms)
        )
    SafeConsole().print(table)
    if stored.texts:
        texts = SafeTable("language", "new message", "mention", "private", "notification")
        for locale, each in sorted(stored.texts.items()):
            shown = (each.new_message, each.mention, each.private, each.notification)
            texts.add_row(locale, *(text or "-" for text in shown))
        SafeConsole().print(texts)


async def _read(opened: _PushAdministration) -> tuple[Mapping[PushKind, StoredProvider], PushSettings]:
    stored = await opened.tenants.read(opened.tenant)
    return await opened.providers.read(opened.tenant), stored.settings.push


def _credential_names(config: ProviderConfig) -> list[str]:
    match config:
        case ApnsConfig():
            return [f"key {key.key_id} of team {key.team_id}" for key in config.keys]
        case WebPushConfig():
            return [f"{config.subject}, public key {key.public_key}" for key in config.keys]
        case FcmConfig():
            return [f"{each.client_email} of {each.project_id}" for each in config.accounts]
        case HttpConfig():
            return [f"{config.url}, {len(config.secrets)} secrets"]


def new_vapid_key() -> VapidKey:
    private = ec.generate_private_key(ec.SECP256R1())
    public = private.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return VapidKey(public_key=b64url(public), private_key=pem.decode())


def _valid[T](kind: type[T], values: dict[str, object]) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Invalid credentials: {error}") from None
