"""The deletion of a tenant on both engines: all its data is deleted, and another tenant is unchanged."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from contract.media.test_worker import worker
from faults.clients import dynamodb
from fixtures.erasure_env import ErasureJobEnv
from fixtures.export_env import ExportEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.media_env import MediaEnv
from fixtures.rest_app import RestApp
from fixtures.tables import Tables
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, asked, code_of

from tidings.accounts.model import Device, Phone, Scope
from tidings.accounts.store.sessions import DynamoRevocationLog
from tidings.app.wiring.erasure import build_erasure_service
from tidings.app.wiring.moderation import build_reports
from tidings.erasure.model import Erasure, ErasureStep
from tidings.erasure.row_page import READ_ROWS
from tidings.erasure.rules import FINAL_MS, job_ids, job_of
from tidings.jobs.model import WHOLE_TENANT, ChunkRef, JobKind
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, TenantId, UserId, new_ulid
from tidings.media.model import MediaTask
from tidings.moderation.model import ReportReason
from tidings.moderation.reviews import ReportRequest
from tidings.moderation.store import DynamoReviewStore
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.retention.archive.rules import manifest_key, part_key
from tidings.schema.tables.items import accounts, jobs, push, webhooks
from tidings.tenants.model import KeyKind, KeyName, TenantSettings, WrappedKey
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoKeyStore, DynamoTenantStore

WAITING, DISABLED, HEALTHY = "01WAITING", "01DISABLED", "01HEALTHY"
"""Webhook endpoints: with queued events, disabled, and with nothing but deliveries."""


class MediaWorker:
    """The media worker on the bucket of the test."""

    def __init__(self, media: MediaEnv) -> None:
        self._media = media

    async def publish(self, task: MediaTask, /) -> None:
        await worker(self._media).handle([task])

    def publish_soon(self, task: MediaTask, /) -> None:
        raise AssertionError(f"{task} is not published in time")


class PlantedTenant:
    """A tenant with rows in every table and files in the bucket. Secrets are unique, so that they are found anywhere."""

    def __init__(self, exports: ExportEnv, tables: Tables) -> None:
        self.exports, self.use_cases, self.rest = exports, exports.use_cases, exports.api
        self.tenant, self.tables = exports.use_cases.tenant, tables
        self.env = ErasureJobEnv(self.rest, tables)
        self.env.media = MediaWorker(exports.media)
        self.secret = f"s-{new_ulid()}"
        store = DynamoTenantStore(self.use_cases.client, AuthenticatedRows(self.use_cases.ring))
        self.tenants = TenantService(store, self.use_cases.clock)
        self.service = build_erasure_service(
            self.use_cases.client, self.rest.notifications.jobs, self.use_cases.clock, self.use_cases.ring
        )

    async def plant(self) -> None:
        await self.tenants.create(self.tenant, TenantSettings(name=self.secret))
        chats = await self.exports.populate()
        cases, users = self.use_cases, self.rest.accounts.users
        phone = Phone("+4915199990001")
        user = await users.create(self.tenant, UserId("with-phone"), phone=phone, display_name=self.secret)
        await self.rest.accounts.sessions.begin(user, Device(id=DeviceId("laptop"), name=self.secret))
        unknown = await cases.manage.direct(self.tenant, UserId("stranger"), CLEO)
        hidden = await cases.manage.direct(self.tenant, UserId("stranger"), UserId("stranger-2"))
        for chat in (unknown, hidden):
            sent = await cases.send(chat, UserId("stranger"), self.secret, after=None)
            await cases.change.react(asked(chat, UserId("stranger"), sent.sequence), "👍")
        await self.rest.settle()
        reviews = DynamoReviewStore(cases.client, cases.user_keys)
        reports = build_reports(reviews, cases.clock, cases.history, users)
        await reports.report_user(self.tenant, BEN, ReportRequest(ANNA, ReportReason.SPAM, self.secret))
        self.plant_raw(chats["direct"].chat)
        await self.rest.accounts.users.create(self.tenant, UserId("erased"))
        await cases.user_keys.destroy(self.tenant, UserId("erased"))
        shown = await self.rest.server(Scope.USERS).ok("POST", f"/v1/users/{ANNA}/export")
        archive = f"{self.tenant}/exports/{ANNA}/{shown['id']}/archive.zip"
        await self.rest.archives.put(archive, self.secret.encode(), "application/zip")
        for key in (part_key, manifest_key):
            stored = key(self.tenant, "2026-10", new_ulid())
            await self.rest.archives.put(stored, self.secret.encode(), "application/octet-stream")

    def plant_raw(self, chat: str) -> None:
        """Put rows whose writers are other processes."""
        tenant, anna = self.tenant, f"{self.tenant}#{ANNA}"
        waiting = webhooks.QUEUE.render(tenant=tenant, endpoint=WAITING)
        disabled = webhooks.BACKLOG_KEY.render(tenant=tenant, endpoint=DISABLED)
        for endpoint in (WAITING, DISABLED, HEALTHY):
            deliveries = webhooks.DELIVERIES.render(tenant=tenant, endpoint=endpoint)
            self._put("tenants", {"tenant": tenant, "item": f"hook#{endpoint}"})
            self._put("webhooks", {"endpoint": deliveries, "item": "0000000000001#e"})
        for table, row in (
            ("tenants", {"tenant": tenant, "item": "key#1"}),
            ("tenants", {"tenant": tenant, "item": "jwk#1"}),
            ("webhooks", {"endpoint": waiting, "item": f"run#{chat}"}),
            ("webhooks", {"endpoint": webhooks.BACKLOGS.render(), "item": waiting}),
            (
                "webhooks",
                {"endpoint": webhooks.DISABLED.render(), "item": disabled, "reason": "r", "at_ms": "1"},
            ),
            ("pending_queue", {"user_id": anna, "message_key": f"1#{self.secret}"}),
            (
                "push_results",
                {"message": push.RESULT.render(tenant=tenant, chat=chat, sequence=2), "recipient": "r"},
            ),
            ("erasures", {"tenant": f"{tenant}#retention", "erasure": chat}),
            ("erasures", {"tenant": f"{tenant}#unindexed", "erasure": chat}),
            ("leases", {"lease": accounts.LEASE.partition.render(lease=f"import-{tenant}")}),
        ):
            self._put(table, row)

    def _put(self, table: str, row: Mapping[str, str]) -> None:
        item: Any = {name: {"S": value} for name, value in row.items()}
        dynamodb(self.tables.url).put_item(TableName=self.tables.prefix + table, Item=item)

    async def request(self) -> ChunkRef:
        first = await self.service.request(self.tenant, WHOLE_TENANT, "operator:test")
        assert (await self.service.request(self.tenant, WHOLE_TENANT, "operator:test")).id == first.id
        (ref,) = {ref for ref in self.rest.chunks.take() if ref.kind is JobKind.ERASE}
        return ref

    async def run(self, ref: ChunkRef, failpoints: KillAt) -> None:
        for _ in range(300):
            if await self.env.turn(ref, failpoints):
                return
        raise AssertionError("the deletion does not end")

    async def deletion(self) -> Erasure:
        return await self.service.read(self.tenant, WHOLE_TENANT)

    async def check_deleted(self, *, is_restored: bool = False) -> None:
        """`is_restored`: the tables were restored, except `tenants`, which names the endpoints of webhooks.

        The log of deliveries remains if nothing else of its endpoint leads to it. It expires.
        """
        assert self.env.tables_with(self.secret) == {}
        found = self.env.tables_with(self.tenant)
        own = job_ids(await self.deletion())
        progress = {
            *("tenant", "erasure", "id", "requested_by", "requested_ms", "step", "step_ms", "cursor"),
            *("counts", "certificate", "version", "ttl"),
        }
        listed = {"tenant", "erasure", "ttl"}
        assert sorted((set(row) for row in found.pop("erasures")), key=len) == [listed, progress]
        for row in found.pop("inbox"):
            # Idempotency keys expire, and the next sweep deletes the check of a job that does not exist.
            is_known = row["PK"]["S"].startswith((f"t#{self.tenant}K#", "t#_Q#"))
            assert is_known or any(job in repr(row) for job in own), row
        kept = [row for row in found.pop("tenants") if row["tenant"]["S"] != "_system#revoked"]
        assert [set(row) for row in kept] == [{"tenant", "item", "deleted_at", "created_at"}]
        found.pop("audit", None)
        if is_restored:
            deliveries = webhooks.DELIVERIES.render(tenant=self.tenant, endpoint=HEALTHY)
            assert [row["endpoint"]["S"] for row in found.pop("webhooks")] == [deliveries]
        assert found == {}
        assert await self.exports.media.keys() == []
        assert [key async for key in self.rest.archives.keys(f"{self.tenant}/")] == []


async def other_tenant(exports: ExportEnv, name: str) -> RestApp:
    """Return another tenant with the same users."""
    cases = UseCaseEnv(exports.use_cases.client, name, exports.use_cases.key_file)
    rest = RestApp(cases)
    media = MediaEnv(cases, exports.media.bucket)
    for user in (ANNA, BEN):
        await rest.accounts.users.create(cases.tenant, user, display_name="Other")
    chat = await cases.group(BEN, CLEO)
    await cases.send(chat, ANNA, "of the other tenant")
    await media.message(chat, await media.put(chat, b"other file"))
    await rest.settle()
    return rest


def everything_of(planted: PlantedTenant, tenant: str) -> dict[str, list[str]]:
    found = planted.env.tables_with(tenant)
    return {
        table: sorted(json.dumps(row, sort_keys=True, default=repr) for row in rows)
        for table, rows in found.items()
    }


async def test_nothing_of_a_deleted_tenant_remains_and_another_one_is_unchanged(
    exports: ExportEnv, tables: Tables
) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    name = f"other-{new_ulid().lower()}"[:32]
    other = await other_tenant(exports, name)
    before = everything_of(planted, name)
    objects = [key async for key in exports.media.bucket.keys(f"{name}/")]
    assert {"messages", "chats", "users", "user_keys", "uploads"} <= set(before)
    assert objects
    await planted.run(await planted.request(), KillAt())
    await planted.check_deleted()
    assert everything_of(planted, name) == before
    assert [key async for key in exports.media.bucket.keys(f"{name}/")] == objects
    assert (await other.user(BEN).ok("GET", "/v1/chats"))["chats"]
    deletion = await planted.deletion()
    assert (deletion.step, deletion.counts["uploads"] > 0) == (ErasureStep.FINAL, True)
    tables_counted = {
        "messages",
        "chats",
        "chat_memberships",
        "delivery_state",
        "users",
        "user_keys",
        "inbox",
    }
    assert tables_counted <= set(deletion.counts)
    certificate = await planted.env.verified(deletion.certificate or "")
    assert (certificate.tenant, certificate.user, certificate.state) == (planted.tenant, None, "erased")
    assert certificate.counts == deletion.counts


async def test_workers_that_die_at_failpoint_after_failpoint_delete_the_tenant(
    exports: ExportEnv, tables: Tables
) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    ref = await planted.request()
    deaths = 0
    while True:
        try:
            await planted.run(ref, KillAt(1 + deaths))
        except KilledError:
            deaths += 1
            continue
        break
    assert deaths > 5
    await planted.check_deleted()


async def test_members_who_are_not_in_the_directory_are_found_through_each_other(
    exports: ExportEnv, tables: Tables
) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    strangers = [UserId(f"stranger-{number}") for number in range(2, 12)]
    for one, other in pairwise(strangers):
        chat = await planted.use_cases.manage.direct(planted.tenant, one, other)
        await planted.use_cases.send(chat, one, planted.secret, after=None)
    await planted.run(await planted.request(), KillAt())
    await planted.check_deleted()


async def test_jobs_are_deleted_however_many_one_page_has(exports: ExportEnv, tables: Tables) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.tenants.create(planted.tenant, TenantSettings(name=planted.secret))
    put = partial(dynamodb(tables.url).put_item, TableName=tables.prefix + "inbox")
    for _ in range(READ_ROWS + 5):
        job = new_ulid()
        listed = jobs.JOBS_OF_TENANT.render(tenant=planted.tenant, shard=0)
        of_job = jobs.OF_JOB.render(tenant=planted.tenant, job=job)
        put(Item={"PK": {"S": listed}, "SK": {"S": f"jb#{job}"}})
        put(Item={"PK": {"S": of_job}, "SK": {"S": jobs.JOB_SORT.render()}, "secret": {"S": planted.secret}})
    planted.env.page_rows = 1_000
    await planted.run(await planted.request(), KillAt())
    await planted.check_deleted()


async def test_the_fence_refuses_the_id_and_revokes_all_credentials(
    exports: ExportEnv, tables: Tables
) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    ref = await planted.request()
    with pytest.raises(KilledError):
        await planted.run(ref, KillAt(1))
    assert await code_of(planted.tenants.read(planted.tenant)) is Code.REQUEST_INVALID
    log = DynamoRevocationLog(planted.use_cases.client)
    revoked = [each for _, each in await log.since(0) if each.tenant == planted.tenant]
    assert any(each.is_of_tenant for each in revoked)
    await planted.run(ref, KillAt())
    create = planted.tenants.create(planted.tenant, TenantSettings(name="again"))
    assert await code_of(create) is Code.REQUEST_INVALID
    assert not [row for row in planted.env.tables_with(planted.tenant)["tenants"] if "data_key" in repr(row)]


async def test_the_last_step_deletes_what_was_written_since(exports: ExportEnv, tables: Tables) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    await planted.run(await planted.request(), KillAt())
    await planted.rest.accounts.users.create(planted.tenant, UserId("late"))
    planted.use_cases.clock.ahead_ms += FINAL_MS
    last = job_of(await planted.deletion())
    ref = ChunkRef(tenant=last.tenant, job=last.id, chunk=0, kind=last.kind)
    await planted.run(ref, KillAt())
    deletion = await planted.deletion()
    certificate = await planted.env.verified(deletion.certificate or "")
    assert (deletion.step, certificate.state) == (ErasureStep.DONE, "final")
    await planted.check_deleted()


async def test_a_process_that_still_reads_rows_of_the_tenant_stores_no_key(
    exports: ExportEnv, tables: Tables
) -> None:
    planted = PlantedTenant(exports, tables)
    await planted.plant()
    await planted.run(await planted.request(), KillAt())
    keys = DynamoKeyStore(planted.use_cases.client)
    made = WrappedKey(KeyName(KeyKind.CONTENT, 1), b"wrapped", "a master key", 0)
    assert await keys.add(planted.tenant, made) == made
    assert list(await keys.list(planted.tenant)) == []
    await planted.check_deleted()


async def test_a_tenant_that_does_not_exist_is_refused(exports: ExportEnv, tables: Tables) -> None:
    planted = PlantedTenant(exports, tables)
    request = planted.service.request(TenantId("nobody"), WHOLE_TENANT, "operator:test")
    assert await code_of(request) is Code.REQUEST_INVALID
