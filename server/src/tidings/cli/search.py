"""`tidings search enable | disable | rebuild | show`."""

import asyncio
from collections.abc import Awaitable, Callable

import click
from msgspec.structs import replace

from tidings.accounts.store.users import DynamoUserStore
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import open_tables
from tidings.app.wiring.engine_clients import make_user_key_ring, open_key_ring
from tidings.app.wiring.search import UserDirectory
from tidings.cli.output import echo
from tidings.jobs.model import JobId
from tidings.jobs.service import JobService
from tidings.jobs.store import DynamoJobStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.search.rebuild import SearchRebuild
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

_TENANT = click.argument("tenant")


@click.group(name="search")
def group() -> None:
    """Search in messages of a tenant: enable, disable, rebuild, show."""


@group.command()
@_TENANT
def enable(tenant: str) -> None:
    """Let users of TENANT search their messages, and start a job that indexes the messages of the past.

    The index then has the words of all messages of TENANT, also of encrypted ones.
    """

    async def run(services: "_Services") -> JobId:
        found = await services.set_search(tenant, is_on=True)
        return await services.rebuild.start(found)

    _announce(tenant, asyncio.run(_with_services(run)))


@group.command()
@_TENANT
def disable(tenant: str) -> None:
    """End search for TENANT. The process `search` deletes its part of the index within a minute."""
    asyncio.run(_with_services(lambda services: services.set_search(tenant, is_on=False)))
    echo(f"ok: search is off for {tenant}; its part of the index is deleted within a minute")


@group.command()
@_TENANT
def rebuild(tenant: str) -> None:
    """Start a job that indexes all messages of TENANT again, for example after the index was lost."""

    async def run(services: "_Services") -> JobId:
        found = await services.tenants.read(tenant)
        if not found.settings.has_search:
            raise TidingsError(
                Code.SEARCH_OFF, f"Search is off for {tenant}.", hint=f"Run `tidings search enable {tenant}`."
            )
        return await services.rebuild.start(found.id)

    _announce(tenant, asyncio.run(_with_services(run)))


@group.command()
@_TENANT
def show(tenant: str) -> None:
    """Show whether users of TENANT can search, and the engine of the installation."""
    found = asyncio.run(_with_services(lambda services: services.tenants.read(tenant)))
    settings = load().settings.search
    echo(f"search of {tenant}: {'on' if found.settings.has_search else 'off'}")
    where = {"tantivy": f" in {settings.directory}", "opensearch": f" at {settings.url}"}.get(
        settings.engine, ""
    )
    echo(f"index: {settings.engine}{where}")


def _announce(tenant: str, job: JobId) -> None:
    echo(job)
    echo(f"Search is on for {tenant}. Follow the rebuild with `tidings job watch {tenant} {job}`.", err=True)


class _Services:
    def __init__(self, tenants: TenantService, rebuild: SearchRebuild) -> None:
        self.tenants = tenants
        self.rebuild = rebuild

    async def set_search(self, tenant: str, *, is_on: bool) -> TenantId:
        changed = await self.tenants.change(tenant, lambda settings: replace(settings, has_search=is_on))
        return changed.id


class _NoChunks:
    """A rebuild starts some seconds later, so the job sweeper publishes its chunks."""

    def publish(self, refs: object) -> None:
        del refs


async def _with_services[T](act: Callable[[_Services], Awaitable[T]]) -> T:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as keys:
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(keys)), clock)
        users = DynamoUserStore(client, keys, make_user_key_ring(settings, client, keys, clock))
        jobs = JobService(DynamoJobStore(client, settings.inboxes.job_retention_days), _NoChunks(), clock)
        return await act(_Services(tenants, SearchRebuild(jobs, UserDirectory(users), clock)))
