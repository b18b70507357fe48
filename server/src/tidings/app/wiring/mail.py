"""Build the services of e-mail."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.accounts.store.users import DynamoUserStore
from tidings.app.settings import Settings
from tidings.inboxes.channels.jobs import ChannelJobs
from tidings.inboxes.channels.reader import ChannelReader
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.mail.service import MailConfigs, MailService
from tidings.inboxes.mail.worker import MailOptions, MailStats, MailWorker, MailWorkerDeps
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.store.mail import DynamoMailConfigStore, DynamoMailResultStore
from tidings.inboxes.store.smtp import SmtpOptions, SmtpTransport
from tidings.kernel.clock import Clock
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.mail_addresses import parse_mail_address
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore
from tidings.tenants.user_keys import UserKeyRing


def smtp_options(settings: Settings) -> SmtpOptions | None:
    """Return the mail server, or None if there is none. Raises `ValueError`, which names the setting."""
    wanted = settings.mail
    if wanted.smtp_url is None:
        return None
    try:
        return SmtpOptions.from_url(
            wanted.smtp_url.reveal(), timeout_s=wanted.timeout_s, max_connections=wanted.max_connections
        )
    except ValueError as error:
        raise ValueError(f"mail.smtp_url: {error}") from None


def mail_options(settings: Settings) -> MailOptions | None:
    """Return how mails are sent, or None if there is no mail server. Raises `ValueError`, which names the setting."""
    wanted = settings.mail
    if wanted.smtp_url is None:
        return None
    if wanted.sender is None:
        raise ValueError("mail.sender: is not set; mails need an address that they come from")
    if wanted.public_url is None:
        raise ValueError("mail.public_url: is not set; links to unsubscribe need the address of the REST API")
    try:
        sender = parse_mail_address(wanted.sender)
    except ValueError as error:
        raise ValueError(f"mail.sender: {error}") from None
    return MailOptions(
        sender=sender.spec,
        public_url=wanted.public_url.rstrip("/"),
        timeout_s=wanted.timeout_s,
        max_concurrent=wanted.max_connections,
    )


@asynccontextmanager
async def open_smtp(options: SmtpOptions, clock: Clock) -> AsyncIterator[SmtpTransport]:
    transport = SmtpTransport(options, clock)
    try:
        yield transport
    finally:
        await transport.close()


def build_mail_worker(
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    *,
    reader: ChannelReader,
    jobs: ChannelJobs,
    transport: SmtpTransport,
    options: MailOptions,
    stats: MailStats,
    failpoints: Failpoints,
) -> MailWorker:
    deps = MailWorkerDeps(
        reader=reader,
        users=DynamoUserStore(client, keys.tenants, keys),
        results=DynamoMailResultStore(client),
        configs=MailConfigs(DynamoMailConfigStore(client), clock),
        transport=transport,
        jobs=jobs,
        clock=clock,
        failpoints=failpoints,
    )
    return MailWorker(deps, options, stats)


def build_mail_service(
    client: DynamoClient,
    keys: UserKeyRing,
    clock: Clock,
    *,
    inboxes: InboxConfigCache,
    preferences: PreferenceService,
) -> MailService:
    """Build the service of the REST API."""
    return MailService(
        DynamoMailConfigStore(client),
        DynamoMailResultStore(client),
        inboxes=inboxes,
        preferences=preferences,
        users=DynamoUserStore(client, keys.tenants, keys),
        tenants=TenantReader(DynamoTenantStore(client, AuthenticatedRows(keys.tenants)), clock),
        keys=keys.tenants,
        clock=clock,
    )
