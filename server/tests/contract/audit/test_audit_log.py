"""The audit log on both engines: what is recorded, in which order, and what cannot be changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.tables import REGION, Tables

from tidings.audit.log import AuditLog
from tidings.audit.model import AdminAction, AuditPhase, AuditRecord, AuditSource, next_month, record_of
from tidings.audit.store import DynamoAuditStore
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, encode_ulid, new_ulid
from tidings.kernel.security import Secret
from tidings.platform.dynamo.open_client import open_client

CLOCK = SystemClock()
DAY_MS = 86_400_000
NOVEMBER_MS = 1_793_500_000_000
assert record_of(AdminAction(source=AuditSource.CLI, actor="", credential="", operation=""), encode_ulid(NOVEMBER_MS, 0), "").at[:7] == "2026-11"  # fmt: skip


@pytest.fixture
def tenant(space: Namespace) -> TenantId:
    return TenantId(space.tenant)


@pytest.fixture
def rows(tables: Tables) -> AsyncFixture[DynamoAuditStore]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[DynamoAuditStore]:
        async with open_client(tables.url, REGION, tables.prefix) as client:
            yield DynamoAuditStore(client)

    return AsyncFixture(opened)


def action(tenant: TenantId | None, operation: str = "user suspend") -> AdminAction:
    return AdminAction(
        source=AuditSource.CLI,
        actor="os:ada@desk",
        credential="cli",
        operation=operation,
        target="user/anna",
        tenant=tenant,
        reason="ticket 4711",
    )


async def newest(log: AuditLog, tenant: TenantId | None, count: int = 10) -> list[AuditRecord]:
    return (await log.page(tenant, None, count, None)).records


async def test_an_action_is_recorded_at_its_start_and_at_its_end(
    rows: DynamoAuditStore, tenant: TenantId
) -> None:
    log = AuditLog(rows, CLOCK)
    async with log.action(action(tenant)):
        (started,) = await newest(log, tenant)
        note_change({"suspended": False}, {"suspended": True})
    finished, first = await newest(log, tenant)
    assert first == started
    assert (started.phase, started.outcome, started.after) == (AuditPhase.STARTED, None, None)
    assert finished == msgspec.structs.replace(
        started,
        id=finished.id,
        at=finished.at,
        phase=AuditPhase.FINISHED,
        outcome="ok",
        before={"suspended": False},
        after={"suspended": True},
    )
    assert started.id == started.action_id < finished.id
    assert (started.actor, started.credential, started.reason) == ("os:ada@desk", "cli", "ticket 4711")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(TidingsError(Code.USER_NOT_FOUND, "no"), "user_not_found"), (OSError(), "internal")],
)
async def test_a_failed_action_is_recorded_with_its_error(
    rows: DynamoAuditStore, tenant: TenantId, error: Exception, outcome: str
) -> None:
    log = AuditLog(rows, CLOCK)
    with pytest.raises(type(error)):
        async with log.action(action(tenant)):
            raise error
    assert (await newest(log, tenant))[0].outcome == outcome


class UnavailableStore(DynamoAuditStore):
    """Refuses every record after the first `accepted`."""

    def __init__(self, rows: DynamoAuditStore, accepted: int) -> None:
        super().__init__(rows._client)
        self.accepted = accepted

    async def append(self, record: AuditRecord, /) -> None:
        if self.accepted == 0:
            raise TidingsError(Code.OVERLOADED, "unavailable")
        self.accepted -= 1
        await super().append(record)


async def test_an_action_whose_start_cannot_be_recorded_does_not_run(
    rows: DynamoAuditStore, tenant: TenantId
) -> None:
    ran = False
    with pytest.raises(TidingsError, match="unavailable"):
        async with AuditLog(UnavailableStore(rows, 0), CLOCK).action(action(tenant)):
            ran = True
    assert not ran


async def test_an_action_whose_end_cannot_be_recorded_succeeds_and_stays_open(
    rows: DynamoAuditStore, tenant: TenantId
) -> None:
    async with AuditLog(UnavailableStore(rows, 1), CLOCK).action(action(tenant)):
        pass
    (only,) = await newest(AuditLog(rows, CLOCK), tenant)
    assert only.phase is AuditPhase.STARTED


async def test_a_record_is_never_replaced(rows: DynamoAuditStore, tenant: TenantId) -> None:
    name = new_ulid()
    first = record_of(action(tenant), name, name)
    await rows.append(first)
    await rows.append(msgspec.structs.replace(first, actor="os:mallory@desk"))
    assert await newest(AuditLog(rows, CLOCK), tenant) == [first]


async def test_records_of_other_tenants_and_of_the_installation_are_apart(
    rows: DynamoAuditStore, tenant: TenantId
) -> None:
    log, other = AuditLog(rows, CLOCK), TenantId(f"{tenant}-2")
    for owner, operation in ((tenant, "mine"), (other, "theirs"), (None, f"tables apply {tenant}")):
        async with log.action(action(owner, operation)):
            pass
    assert {each.operation for each in await newest(log, tenant)} == {"mine"}
    assert {each.operation for each in await newest(log, other)} == {"theirs"}
    system = {each.operation: each.tenant for each in await newest(log, None, 50)}
    assert system[f"tables apply {tenant}"] == "_system"


async def test_an_export_continues_after_a_record_and_crosses_months(
    rows: DynamoAuditStore, tenant: TenantId
) -> None:
    names = [encode_ulid(NOVEMBER_MS + days * DAY_MS, n) for n, days in enumerate((0, 1, 45, 46, 80))]
    for name in names:
        await rows.append(record_of(action(tenant), name, name))
    log, until_ms = AuditLog(rows, CLOCK), NOVEMBER_MS + 79 * DAY_MS

    async def exported(since: str | None = None, after: str | None = None) -> list[str]:
        found = log.export(tenant, since=since, after=after, until_ms=until_ms)
        return [each.id async for each in found]

    assert await exported("2026-11") == names[:4], "the last one is younger than the end"
    assert await exported(after=names[1]) == names[2:4]
    assert await exported(after=names[2]) == names[3:4]
    assert await exported() == [], "the month of the end has none before it"
    for month in ("2026-13", "26-11", "next"):
        with pytest.raises(TidingsError, match="not a month"):
            await exported(month)
    with pytest.raises(TidingsError, match="not the id of an audit record"):
        await exported(after="?")


async def test_pages_go_backwards_through_a_month(rows: DynamoAuditStore, tenant: TenantId) -> None:
    names = [encode_ulid(NOVEMBER_MS + n, n) for n in range(5)]
    for name in names:
        await rows.append(record_of(action(tenant), name, name))
    log, found, last = AuditLog(rows, CLOCK), list[str](), None
    while True:
        page = await log.page(tenant, "2026-11", 2, last)
        found += [each.id for each in page.records]
        if (last := page.last) is None:
            break
    assert found == names[::-1]


def test_large_states_are_recorded_by_hash_and_secrets_as_stars() -> None:
    name = new_ulid()
    record = record_of(
        action(None), name, name, outcome="ok", before={"key": Secret("s3cret")}, after="x" * 9999
    )
    assert record.before == {"key": "***"}
    assert record.after["bytes"] == 10_001
    assert len(record.after["sha256"]) == 64


def test_months_follow_each_other() -> None:
    assert [next_month(month) for month in ("2026-01", "2026-11", "2026-12")] == [
        "2026-02",
        "2026-12",
        "2027-01",
    ]
