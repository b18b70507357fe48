"""Name the tenant when that is what is missing, not the user, inbox or job that was asked for in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.run.keys import open_key_ring
from tidings.run.settings import Settings
from tidings.tenants.store import DynamoTenantStore

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
        if error.code in _NOT_FOUND and tenant and not await _exists(settings, client, TenantId(tenant)):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"There is no tenant {tenant}.",
                hint="`tidings tenant create` makes one.",
            ) from error
        raise


async def _exists(settings: Settings, client: DynamoClient, tenant: TenantId) -> bool:
    async with open_key_ring(settings, client, SystemClock()) as ring:
        return await DynamoTenantStore(client, AuthenticatedRows(ring)).read(tenant) is not None
