"""`tidings media sweep | set`."""

import asyncio
from dataclasses import asdict

import click
from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.delivery import open_publisher
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.app.wiring.media import build_sweeper, s3_options
from tidings.app.wiring.options import dynamo_endpoint, kafka_config, validate_settings
from tidings.cli.output import echo
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.media.store.tasks import KafkaMediaTasks
from tidings.media.sweeper import SweepStats
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.s3.client import open_s3
from tidings.tenants.model import MediaPolicy, Tenant, TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore


@click.group(name="media")
def group() -> None:
    """Attachments: compare uploads with the bucket, and set the limits of a tenant."""


@group.command()
@click.option("--tenant", help="Sweep this tenant only.")
def sweep(tenant: str | None) -> None:
    """Compare all uploads with the objects of the bucket, and delete what nothing refers to.

    Fails if an upload has no object.
    """
    settings = load().settings
    validate_settings(settings, (dynamo_endpoint, kafka_config, s3_options))
    found = asyncio.run(_sweep(settings, tenant))
    for name, count in asdict(found).items():
        echo(f"{name}: {count}")
    if found.missing:
        raise click.exceptions.Exit(1)


async def _sweep(settings: Settings, tenant: str | None) -> SweepStats:
    options, clock = s3_options(settings), SystemClock()
    if options is None:
        raise TidingsError(Code.MEDIA_NOT_CONFIGURED, "media.endpoint is not set.")
    async with (
        open_tables(settings.dynamo) as client,
        open_key_ring(settings, client, clock) as keys,
        open_publisher(settings) as publisher,
        open_s3(options) as s3,
    ):
        _, sweeper = build_sweeper(
            client,
            keys,
            s3,
            KafkaMediaTasks(publisher),
            clock=clock,
            interval_s=settings.media.sweep_interval_s,
        )
        return await (sweeper.sweep(TenantId(tenant)) if tenant else sweeper.sweep_all())


@group.command(name="set")
@click.argument("tenant")
@click.option("--max-file-mb", type=click.IntRange(1, 5_120), help="Size of a file.  [default: 100]")
@click.option("--total-mb", type=click.IntRange(min=1), help="Size of all files together.  [default: 100000]")
@click.option(
    "--type",
    "types",
    multiple=True,
    help="An allowed type, such as `image/*`. Repeatable. `all` allows every type.",
)
@click.option(
    "--strip-metadata/--keep-metadata",
    default=None,
    help="Whether images lose their metadata, such as the place of a photo, before others can download them.",
)
@click.option(
    "--link-previews/--no-link-previews",
    default=None,
    help="Whether the media worker fetches the pages that messages link to.  [default: no]",
)
def set_(
    tenant: str,
    max_file_mb: int | None,
    total_mb: int | None,
    types: tuple[str, ...],
    *,
    strip_metadata: bool | None,
    link_previews: bool | None,
) -> None:
    """Change the limits of TENANT's attachments. They apply everywhere within 30 seconds."""

    def change(settings: TenantSettings) -> TenantSettings:
        now = settings.media
        policy = MediaPolicy(
            max_file_mb=max_file_mb or now.max_file_mb,
            total_mb=total_mb or now.total_mb,
            types=() if types == ("all",) else types or now.types,
            strips_metadata=now.strips_metadata if strip_metadata is None else strip_metadata,
            has_link_previews=now.has_link_previews if link_previews is None else link_previews,
        )
        return replace(settings, media=policy)

    async def act() -> Tenant:
        settings, clock = load().settings, SystemClock()
        async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
            service = TenantService(DynamoTenantStore(client, AuthenticatedRows(ring)), clock)
            return await service.change(tenant, change)

    policy = asyncio.run(act()).settings.media
    echo(
        f"files: {policy.max_file_mb} MB each, {policy.total_mb} MB in all; types: {', '.join(policy.types) or 'all'}"
    )
    echo(f"metadata of images: {'removed' if policy.strips_metadata else 'kept'}")
    echo(f"previews of links: {'fetched' if policy.has_link_previews else 'none'}")
