"""`tidings search enable | disable | rebuild | show`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import click

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.app.wiring.search import build_search_switch
from tidings.cli.output import echo
from tidings.jobs.model import JobId
from tidings.kernel.clock import SystemClock
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.search.switch import SearchSwitch
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
    _announce(tenant, asyncio.run(_with_services(lambda services: services.switch.enable(tenant))))


@group.command()
@_TENANT
def disable(tenant: str) -> None:
    """End search for TENANT. The process `search` deletes its part of the index within a minute."""
    asyncio.run(_with_services(lambda services: services.switch.disable(tenant)))
    echo(f"ok: search is off for {tenant}; its part of the index is deleted within a minute")


@group.command()
@_TENANT
def rebuild(tenant: str) -> None:
    """Start a job that indexes all messages of TENANT again, for example after the index was lost."""
    _announce(tenant, asyncio.run(_with_services(lambda services: services.switch.rebuild(tenant))))


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


@dataclass(frozen=True, slots=True)
class _Services:
    tenants: TenantService
    switch: SearchSwitch


async def _with_services[T](act: Callable[[_Services], Awaitable[T]]) -> T:
    settings, clock = load().settings, SystemClock()
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as keys:
        tenants = TenantService(DynamoTenantStore(client, AuthenticatedRows(keys)), clock)
        return await act(_Services(tenants, build_search_switch(settings, client, tenants, clock)))
