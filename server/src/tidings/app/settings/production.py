"""Check the settings of an installation in production: each check reports one setting, the problem and the solution.

A check is one of the `BUILDS` that a process tries before it opens anything, so all problems are reported together.
A process checks only what it uses: a worker needs no secret of the edge.
"""

import os
from collections.abc import Callable
from functools import wraps
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from tidings.app.settings.model import EncryptionSettings, Settings
from tidings.platform.redis.options import RedisOptions

type Check = Callable[[Settings], None]

CREDENTIAL = "tidings.key"
"""The name of the master key among systemd's credentials."""
NO_PROXY = "none"
"""The value of `trusted_proxies` for an edge that clients reach directly."""


def _in_production(find: Callable[[Settings], str]) -> Check:
    """Turn a function that words a problem into a check; it passes in development."""

    @wraps(find)
    def check(settings: Settings) -> None:
        if settings.installation == "production" and (problem := find(settings)):
            raise ValueError(problem)

    return check


@_in_production
def key_service(settings: Settings) -> str:
    wanted = settings.encryption
    if wanted.kms == "file":
        return (
            "encryption.kms: `file` is for development; set `aws`, or `credential` with the master key in a "
            "mounted secret or a systemd credential"
        )
    if wanted.kms == "aws" and not wanted.kms_key_id:
        return "encryption.kms_key_id: is not set; name the KMS key that wraps the tenants' keys"
    if wanted.kms == "credential":
        return _credential_problem(wanted)
    return _plaintext("encryption.kms_endpoint", wanted.kms_endpoint)


def _credential_problem(wanted: EncryptionSettings) -> str:
    path = credential_path(wanted)
    if path is None:
        return (
            f"encryption.credential_file: is not set, and systemd passed no credential; set the path of the mounted "
            f"secret, or add `LoadCredential={CREDENTIAL}:/path` to the unit"
        )
    return (
        ""
        if path.is_file()
        else f"encryption.credential_file: there is no file {path}; mount the secret there"
    )


def credential_path(wanted: EncryptionSettings) -> Path | None:
    """Return the file with the master key: the setting, or the credential that systemd passed to this service."""
    if wanted.credential_file is not None:
        return wanted.credential_file
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    return Path(directory) / CREDENTIAL if directory else None


@_in_production
def dynamo_transport(settings: Settings) -> str:
    return _plaintext("dynamo.endpoint", settings.dynamo.endpoint)


@_in_production
def kafka_transport(settings: Settings) -> str:
    wanted = settings.kafka
    hosts = [each.rpartition(":")[0] for each in (wanted.bootstrap_servers or "").split(",") if each]
    if wanted.security_protocol in ("plaintext", "sasl_plaintext") and not all(map(is_loopback, hosts)):
        return (
            f"kafka.security_protocol: `{wanted.security_protocol}` sends everything unencrypted to brokers on "
            "other machines; set `ssl` or `sasl_ssl`"
        )
    if wanted.security_protocol.startswith("sasl_") and wanted.sasl_password is None:
        return "kafka.sasl_password: is not set; put it into TIDINGS_KAFKA_SASL_PASSWORD"
    return ""


@_in_production
def redis_transport(settings: Settings) -> str:
    if settings.redis.url is None:
        return ""
    try:
        options = RedisOptions.from_url(settings.redis.url)
    except ValueError:
        return ""  # `redis_options` reports it
    if options.is_tls or all(is_loopback(str(seed[0])) for seed in options.seeds):
        return ""
    return "redis.url: connects without TLS to another machine; write rediss:// instead of redis://"


@_in_production
def search_transport(settings: Settings) -> str:
    return _plaintext("search.url", settings.search.url)


@_in_production
def webhook_network(settings: Settings) -> str:
    if settings.webhooks.network != "local":
        return ""
    return "webhooks.network: `local` lets tenants' URLs reach this machine; set `public` or `private`"


@_in_production
def jwks_network(settings: Settings) -> str:
    if settings.accounts.jwks_network != "local":
        return ""
    return "accounts.jwks_network: `local` lets tenants' URLs reach this machine; set `public` or `private`"


@_in_production
def push_network(settings: Settings) -> str:
    if settings.push.network != "local":
        return ""
    return "push.network: `local` lets tenants' URLs reach this machine; set `public` or `private`"


@_in_production
def mail_links(settings: Settings) -> str:
    url = settings.mail.public_url
    if url is None or url.startswith("https://"):
        return ""
    return f"mail.public_url: {url} is unencrypted; mail clients unsubscribe only by https://"


@_in_production
def sms_sender(settings: Settings) -> str:
    wanted = settings.accounts
    if wanted.sms == "console":
        return (
            "accounts.sms: `console` prints login codes, for development; set `sns`, or `none` without phone login"
            ""
        )
    return _plaintext("accounts.sms_endpoint", wanted.sms_endpoint) if wanted.sms == "sns" else ""


@_in_production
def cursor_secret(settings: Settings) -> str:
    if settings.api.cursor_secret is not None:
        return ""
    return (
        "api.cursor_secret: is not set, so a page could not be continued on another process; put the same random "
        "text into TIDINGS_API_CURSOR_SECRET of every process (`openssl rand -base64 32`)"
    )


@_in_production
def api_proxies(settings: Settings) -> str:
    return _proxies("api", settings.api.host, settings.api.trusted_proxies)


@_in_production
def gateway_proxies(settings: Settings) -> str:
    return _proxies("gateway", settings.gateway.host, settings.gateway.trusted_proxies)


@_in_production
def console_url(settings: Settings) -> str:
    url = settings.console.public_url
    if url is None:
        return "console.public_url: is not set; name the address of the console, https://…, so that cookies are secure"
    return _plaintext("console.public_url", url)


@_in_production
def console_issuer(settings: Settings) -> str:
    return _plaintext("console.oidc_issuer", settings.console.oidc_issuer)


@_in_production
def console_sign_in(settings: Settings) -> str:
    if settings.console.oidc_issuer is None and settings.console.bootstrap_key is None:
        return (
            "console.oidc_issuer: is not set, and neither is console.bootstrap_key; no operator could sign in"
        )
    return ""


def _proxies(section: str, host: str, trusted: str | None) -> str:
    if trusted is not None or is_loopback(host):
        return ""
    return (
        f"{section}.trusted_proxies: is not set, so behind a load balancer all clients would share one address and "
        f"its limits; name the load balancer's networks, or set `{NO_PROXY}` if clients connect directly"
    )


def _plaintext(name: str, url: str | None) -> str:
    parts = urlsplit(url or "")
    if parts.scheme != "http" or is_loopback(parts.hostname or ""):
        return ""
    return f"{name}: {url} is unencrypted, to another machine; use https://"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own. A name other than `localhost` may be another machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


ENGINES: tuple[Check, ...] = (dynamo_transport, kafka_transport, redis_transport, key_service)
API: tuple[Check, ...] = (
    jwks_network,
    webhook_network,
    search_transport,
    sms_sender,
    cursor_secret,
    api_proxies,
)
CONSOLE: tuple[Check, ...] = (jwks_network, cursor_secret, console_url, console_issuer, console_sign_in)
PUSH: tuple[Check, ...] = (push_network,)
MAIL: tuple[Check, ...] = (mail_links,)
GATEWAY: tuple[Check, ...] = (jwks_network, webhook_network, gateway_proxies)
