"""Log administrative commands, and report a missing tenant instead of a missing user, inbox or job in it."""

import getpass
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final, override

import click
import msgspec

from tidings.app.settings import Settings
from tidings.app.wiring.engine_clients import open_key_ring
from tidings.cli.output import echo
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.security import FIELDS, LOGGER, OPERATOR, SecurityEventKind, record_security_event
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
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
                f"Tenant {tenant} does not exist.",
                hint="`tidings tenant create` makes one.",
            ) from error
        raise


async def _exists(settings: Settings, client: DynamoClient, tenant: TenantId) -> bool:
    async with open_key_ring(settings, client, SystemClock()) as ring:
        return await DynamoTenantStore(client, AuthenticatedRows(ring)).read(tenant) is not None


_READING: Final = frozenset(
    {"show", "list", "plan", "check", "doc", "watch", "explain", "estimate", "sessions", "find", "status"}
)
_ADMINISTRATIVE: Final = frozenset(
    {"broadcast", "inbox", "job", "relay", "restore", "segment", "tables", "tenant", "topics", "user"}
)


class _Lines(logging.Handler):
    """Print one JSON object for each line, in the format of the processes' logs."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        line = {"time": at, "level": "info", "event": record.getMessage(), "process": "command"}
        fields: dict[str, object] = getattr(record, FIELDS, {})
        echo(msgspec.json.encode({**line, **fields}).decode(), err=True)


def announce(command: click.Command | None, words: list[str]) -> None:
    """Log which administrative command runs and who runs it. Arguments are left out: they can be secrets."""
    path = _path(command, words)
    if not path or path[0] not in _ADMINISTRATIVE or path[-1] in _READING or "--help" in words:
        return
    logger = logging.getLogger(LOGGER)
    logger.handlers = [_Lines()]
    logger.setLevel(logging.INFO)
    OPERATOR.set(getpass.getuser())
    record_security_event(SecurityEventKind.ADMIN_COMMAND, subject=" ".join(path))


def _path(command: click.Command | None, words: list[str]) -> list[str]:
    path = words[:1] if command is not None else []
    for word in words[1:]:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
        path.append(word)
    return path
