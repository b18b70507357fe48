"""Name the tenant when that is what is missing, not the user, inbox or job that was asked for in it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import Client
from tidings.tenants.store import DynamoTenantStore

_NOT_FOUND = frozenset(
    {
        Code.USER_NOT_FOUND,
        Code.INBOX_NOT_FOUND,
        Code.JOB_NOT_FOUND,
        Code.NOTICE_NOT_FOUND,
        Code.SEGMENT_NOT_FOUND,
    }
)


@asynccontextmanager
async def missing_tenant_named(client: Client) -> AsyncIterator[None]:
    """Look for the command's TENANT once something in it was not found; raise for the tenant if it does not exist."""
    try:
        yield
    except TidingsError as error:
        context = click.get_current_context(silent=True)
        tenant = context.params.get("tenant") if context else None
        if (
            error.code in _NOT_FOUND
            and tenant
            and await DynamoTenantStore(client).read(TenantId(tenant)) is None
        ):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"There is no tenant {tenant}.",
                hint="`tidings tenant create` makes one.",
            ) from error
        raise
