"""An administrative action, and the records of its start and its end."""

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from tidings.kernel.clock import format_ms
from tidings.kernel.ids import TenantId, ulid_ms
from tidings.kernel.security import Secret
from tidings.schema.tables.limits import AUDIT_VALUE_BYTES

MAX_REASON_CHARS = 500


class AuditSource(StrEnum):
    CONSOLE = "console"
    REST = "rest"
    CLI = "cli"
    WORKER = "worker"
    """A process did it at its time, such as the expiry of a request."""


class AuditPhase(StrEnum):
    """`STARTED` is written before the action, `FINISHED` after it."""

    STARTED = "started"
    FINISHED = "finished"


class AdminAction(Struct, frozen=True, kw_only=True):
    """What someone is about to do. `tenant` None: the action concerns the installation.

    actor: the operator, API key or account of the operating system.
    credential: how the actor authenticated.
    operation: the operation id of a route, or the words of a command.
    target: the path of the resource.
    """

    source: AuditSource
    actor: str
    credential: str
    operation: str
    target: str = ""
    tenant: TenantId | None = None
    reason: str | None = None
    address: str = ""
    request_id: str = ""


class AuditRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of the log. Both records of an action have the same `action_id`.

    outcome: `ok` or an error code, once the action has finished. A started action without a finished record ended with
        its process, or the log did not answer: whether it was applied is unknown.
    """

    id: str
    action_id: str
    phase: AuditPhase
    at: str
    tenant: str
    source: AuditSource
    actor: str
    credential: str
    operation: str
    target: str = ""
    outcome: str | None = None
    before: Any = None
    after: Any = None
    reason: str | None = None
    address: str = ""
    request_id: str = ""


SYSTEM = "_system"
"""Stands for the tenant in records of the installation."""


class AuditPage(NamedTuple):
    """`last`: where the next page starts, None at the end of the month."""

    records: list[AuditRecord]
    last: str | None


class AuditStore(Protocol):
    async def append(self, record: AuditRecord, /) -> None:
        """Store a record, safely repeated. Raises `overloaded` or `outcome_unknown`."""
        ...

    async def page(
        self, tenant: TenantId | None, month: str, limit: int, /, *, after: str | None, newest_first: bool
    ) -> AuditPage:
        """Read a page of a month, after this record in the order asked for. Strongly consistent."""
        ...


def record_of(
    action: AdminAction,
    record_id: str,
    action_id: str,
    *,
    outcome: str | None = None,
    before: object = None,
    after: object = None,
) -> AuditRecord:
    return AuditRecord(
        id=record_id,
        action_id=action_id,
        phase=AuditPhase.STARTED if outcome is None else AuditPhase.FINISHED,
        at=format_ms(ulid_ms(record_id)),
        tenant=SYSTEM if action.tenant is None else action.tenant,
        source=action.source,
        actor=action.actor,
        credential=action.credential,
        operation=action.operation,
        target=action.target,
        outcome=outcome,
        before=_bounded(before),
        after=_bounded(after),
        reason=action.reason,
        address=action.address,
        request_id=action.request_id,
    )


def month_of(record_id: str) -> str:
    """Return the month of a record, as in its partition key. Raises `ValueError` for other texts."""
    return format_ms(ulid_ms(record_id))[:7]


def next_month(month: str) -> str:
    year, number = int(month[:4]), int(month[5:])
    return f"{year + number // 12:04d}-{number % 12 + 1:02d}"


def _bounded(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value as JSON, or its size and hash. Secrets become stars."""
    if value is None:
        return None
    plain = msgspec.to_builtins(value, enc_hook=_encode_unknown, str_keys=True)
    encoded = msgspec.json.encode(plain, order="sorted")
    if len(encoded) <= AUDIT_VALUE_BYTES:
        return plain
    return {"bytes": len(encoded), "sha256": hashlib.sha256(encoded).hexdigest()}


def _encode_unknown(value: object) -> object:
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError
