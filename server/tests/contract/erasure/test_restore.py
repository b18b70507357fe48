"""Users who were erased after a backup are erased again after its restore, on both engines."""

from contextlib import suppress
from typing import Any

import pytest
from contract.erasure.test_tenant_deletion import PlantedTenant
from faults.clients import dynamodb
from fixtures.export_env import ExportEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.planted_user import Planted
from fixtures.tables import Tables
from fixtures.use_cases import BEN, UseCaseEnv, code_of

from tidings.accounts.model import Scope
from tidings.app.settings import Settings
from tidings.app.wiring.erasure import delete_tenants_again, erase_again
from tidings.erasure.model import ErasureStep
from tidings.erasure.rules import job_of
from tidings.installation.restore import ErasedAgain
from tidings.jobs.model import ChunkRef, JobKind
from tidings.kernel.errors import Code
from tidings.schema.tables.declaration import BY_NAME, ERASURES, TABLES, TENANTS, USER_KEYS

_AT_THE_LATEST_TIME = {ERASURES.name, TENANTS.name, USER_KEYS.name}

type Backup = dict[str, list[dict[str, Any]]]


class Backups:
    """Copies the items of one tenant, and puts them back as a restore of the tables does."""

    def __init__(self, tables: Tables, tenant: str) -> None:
        self._raw, self._prefix, self._tenant = dynamodb(tables.url), tables.prefix, tenant

    def take(self) -> Backup:
        names = [table.name for table in TABLES if table.name not in _AT_THE_LATEST_TIME]
        return {name: self._items(name) for name in names}

    def put_back(self, backup: Backup) -> None:
        for name, items in backup.items():
            table = BY_NAME[name]
            keys = [key.name for key in (table.partition, table.sort) if key is not None]
            for item in self._items(name):
                self._raw.delete_item(TableName=self._prefix + name, Key={key: item[key] for key in keys})
            for item in items:
                self._raw.put_item(TableName=self._prefix + name, Item=item)

    def _items(self, name: str) -> list[dict[str, Any]]:
        pages = self._raw.get_paginator("scan").paginate(TableName=self._prefix + name)
        return [item for page in pages for item in page["Items"] if self._tenant in str(item)]


async def finish_restore(planted: Planted, restored_ms: int) -> ErasedAgain:
    """Do what `tidings restore finish` does for the tenant."""
    return await erase_again(Settings(), planted.env.client, planted.env.clock, planted.tenant, restored_ms)


async def job_again(planted: Planted) -> ChunkRef:
    erasure = await planted.env.erased(planted.user)
    return ChunkRef(tenant=planted.tenant, job=job_of(erasure).id, chunk=0, kind=JobKind.ERASE)


async def test_a_user_who_was_erased_after_the_backup_is_erased_again(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted, backups = Planted(use_cases, tables), Backups(tables, use_cases.tenant)
    await planted.plant()
    backup, backup_ms = backups.take(), planted.env.clock.now_ms()
    await planted.run(await planted.request(), KillAt())
    first = await planted.env.erased(planted.user)
    backups.put_back(backup)
    assert "messages" in planted.env.tables_with(planted.user)
    for _ in range(2):
        assert await finish_restore(planted, backup_ms) == ErasedAgain(1, 1)
    again = await planted.env.erased(planted.user)
    assert (again.step, again.requested_ms) == (ErasureStep.FENCE, first.requested_ms)
    assert (again.certificate, again.counts) == (None, {})
    assert again.secret is not None
    user = await planted.rest.accounts.users.admitted(planted.tenant, planted.user)
    assert user.is_erased, "the id is refused before any process starts"
    await planted.run(await job_again(planted), KillAt())
    await planted.check_erased()
    shown = await planted.rest.server(Scope.USERS).ok("GET", f"/v1/users/{planted.user}/erasure")
    assert (await planted.env.verified(shown["certificate"])).counts["messages"] == 2


async def test_a_backup_from_the_middle_of_the_erasure_leaves_no_second_job(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted, backups = Planted(use_cases, tables), Backups(tables, use_cases.tenant)
    await planted.plant()
    ref = await planted.request()
    with suppress(KilledError):
        await planted.run(ref, KillAt(12))
    before = await planted.env.erased(planted.user)
    assert before.step not in {ErasureStep.FENCE, ErasureStep.FINAL}
    backup, backup_ms = backups.take(), planted.env.clock.now_ms()
    await planted.run(ref, KillAt())
    backups.put_back(backup)
    assert await finish_restore(planted, backup_ms) == ErasedAgain(1, 1)
    assert await planted.env.turn(ref, KillAt()), "the former job ends without an effect"
    assert (await planted.env.erased(planted.user)).step is ErasureStep.FENCE
    await planted.run(await job_again(planted), KillAt())
    await planted.check_erased()


async def test_a_request_just_before_the_restore_is_carried_out(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted, backups = Planted(use_cases, tables), Backups(tables, use_cases.tenant)
    await planted.plant()
    backup, backup_ms = backups.take(), planted.env.clock.now_ms()
    await planted.request()
    backups.put_back(backup)
    assert await finish_restore(planted, backup_ms) == ErasedAgain(1, 1)
    await planted.run(await job_again(planted), KillAt())
    await planted.check_erased()


async def test_an_erasure_from_before_the_backup_keeps_its_certificate(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    planted = Planted(use_cases, tables)
    await planted.plant()
    await planted.run(await planted.request(), KillAt())
    first = await planted.env.erased(planted.user)
    planted.env.clock.ahead_ms += 120_000
    # The keys of a user can be destroyed without an erasure.
    await use_cases.user_keys.destroy(planted.tenant, BEN)
    assert await finish_restore(planted, planted.env.clock.now_ms()) == ErasedAgain(2, 0)
    assert await planted.env.erased(planted.user) == first
    last = await planted.rest.notifications.jobs.progress(planted.tenant, job_of(first).id)
    assert last.job.starts_ms == job_of(first).starts_ms


@pytest.mark.deadline(180.0)
async def test_a_tenant_that_was_deleted_after_the_backup_is_deleted_again(
    exports: ExportEnv, tables: Tables
) -> None:
    planted, backups = PlantedTenant(exports, tables), Backups(tables, exports.use_cases.tenant)
    await planted.plant()
    backup, clock = backups.take(), planted.use_cases.clock
    backup_ms = clock.now_ms()
    ref = await planted.request()
    await planted.run(ref, KillAt())
    first = await planted.deletion()
    backups.put_back(backup)
    assert "messages" in planted.env.tables_with(planted.tenant)
    for _ in range(2):
        assert await delete_tenants_again(Settings(), planted.use_cases.client, clock, backup_ms) >= 1
    again = await planted.deletion()
    assert (again.step, again.counts, again.certificate) == (ErasureStep.FENCE, {}, None)
    assert again.requested_ms == first.requested_ms
    await planted.run(
        ChunkRef(tenant=planted.tenant, job=job_of(again).id, chunk=0, kind=JobKind.ERASE), KillAt()
    )
    await planted.check_deleted(is_restored=True)
    deletion = await planted.deletion()
    certificate = await planted.env.verified(deletion.certificate or "")
    assert certificate.counts == deletion.counts
    # The deletion was finished before a later backup: its rows, its certificate and the job of its last step stay.
    clock.ahead_ms += 120_000
    await delete_tenants_again(Settings(), planted.use_cases.client, clock, clock.now_ms())
    assert await planted.deletion() == deletion


async def test_a_restored_tenant_is_refused_before_any_process_starts(
    exports: ExportEnv, tables: Tables
) -> None:
    """Also if the table `tenants` was restored to the time of the backup."""
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    ref = await planted.request()
    backup_ms = planted.use_cases.clock.now_ms()
    assert planted.tenant in await planted.tenants.list()
    assert (
        await delete_tenants_again(Settings(), planted.use_cases.client, planted.use_cases.clock, backup_ms)
        >= 1
    )
    assert planted.tenant not in await planted.tenants.list()
    assert await code_of(planted.tenants.read(planted.tenant)) is Code.REQUEST_INVALID
    await planted.run(ref, KillAt())
    await planted.check_deleted()
