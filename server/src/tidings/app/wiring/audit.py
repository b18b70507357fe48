"""Wire the audit log for commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.app.settings.loader import load
from tidings.app.wiring.engine_clients import open_tables
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.kernel.clock import SystemClock


@asynccontextmanager
async def open_audit_log() -> AsyncIterator[AuditLog]:
    async with open_tables(load().settings.dynamo) as client:
        yield AuditLog(DynamoAuditStore(client), SystemClock())
