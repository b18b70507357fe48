"""The second approver over REST and on the tables of both engines."""

from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from msgspec.structs import replace

from tidings.accounts.model import Scope
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.erasure.approval import APPROVAL_MS
from tidings.erasure.store import DynamoErasureStore
from tidings.jobs.model import JobId, JobState
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore, DynamoUserKeyStore


class Approvals:
    """A tenant that requires a second approver, with two API keys."""

    def __init__(self, use_cases: UseCaseEnv) -> None:
        self.use_cases, self.tenant = use_cases, use_cases.tenant
        self.rest = RestApp(use_cases)
        self.tenants = TenantService(
            DynamoTenantStore(use_cases.client, use_cases.authentic), use_cases.clock
        )
        self.first = self.rest.server(Scope.USERS)
        self.second = self.rest.server(Scope.USERS, Scope.NOTIFICATIONS)
        self.audit = AuditLog(DynamoAuditStore(use_cases.client), use_cases.clock)
        self.store, self.keys = DynamoErasureStore(use_cases.client), DynamoUserKeyStore(use_cases.client)

    async def plant(self, *users: UserId) -> None:
        await self.tenants.create(self.tenant, TenantSettings(name="Acme", has_erasure_approval=True))
        for user in users:
            await self.rest.accounts.users.create(self.tenant, user)

    async def decide(self, by: Caller, action: str, user: UserId = ANNA) -> dict[str, str]:
        answer = await by("POST", f"/v1/users/{user}/erasure/decision", {"action": action})
        found: dict[str, str] = answer.json()
        return found

    async def repeated_by_restores(self) -> list[UserId]:
        return [user async for user, _ in self.keys.erased(self.tenant, 0)]


async def planted(use_cases: UseCaseEnv) -> Approvals:
    approvals = Approvals(use_cases)
    await approvals.plant(ANNA, BEN)
    return approvals


async def test_another_api_key_approves_and_the_audit_log_has_both(use_cases: UseCaseEnv) -> None:
    approvals = await planted(use_cases)
    shown = await approvals.first.ok("DELETE", f"/v1/users/{ANNA}")
    assert (shown["state"], shown["step"]) == ("awaiting_approval", "fence")
    assert (await approvals.decide(approvals.first, "approve"))["code"] == Code.FORBIDDEN
    job = JobId(shown["id"])
    assert await approvals.rest.notifications.job_store.read(approvals.tenant, job) is None
    approved = await approvals.decide(approvals.second, "approve")
    assert (approved["state"], approved["requested_by"]) == ("running", shown["requested_by"])
    assert approved["decided_by"] != shown["requested_by"]
    started = await approvals.rest.notifications.job_store.read(approvals.tenant, job)
    assert started is not None
    assert started.state is JobState.RUNNING
    assert (await approvals.decide(approvals.second, "reject"))["code"] == Code.NO_CHANGE
    records = (await approvals.audit.page(approvals.tenant, None, 20, None)).records
    found = [(each.operation, each.outcome) for each in reversed(records) if each.outcome]
    assert found == [
        ("erase_user", "ok"),
        ("decide_erasure", Code.FORBIDDEN),
        ("decide_erasure", "ok"),
        ("decide_erasure", Code.NO_CHANGE),
    ]
    assert [each.after["approval"] for each in records if each.outcome == "ok"] == ["approved", "awaiting"]


async def test_a_restore_repeats_only_what_was_approved(use_cases: UseCaseEnv) -> None:
    approvals = await planted(use_cases)
    for user in (ANNA, BEN):
        await approvals.first.ok("DELETE", f"/v1/users/{user}")
    assert await approvals.repeated_by_restores() == []
    assert await approvals.keys.destroy_again(approvals.tenant, 0) == 0
    await approvals.decide(approvals.second, "approve")
    await approvals.decide(approvals.second, "reject", BEN)
    assert await approvals.repeated_by_restores() == [ANNA]


async def test_an_approval_of_an_earlier_version_is_not_stored(use_cases: UseCaseEnv) -> None:
    approvals = await planted(use_cases)
    await approvals.first.ok("DELETE", f"/v1/users/{ANNA}")
    before = await approvals.store.read(approvals.tenant, ANNA)
    assert before is not None
    rejected = await approvals.decide(approvals.second, "reject")
    assert rejected["state"] == "rejected"
    assert not await approvals.store.approve(replace(before, approval=None, version=before.version + 1))
    assert await approvals.repeated_by_restores() == []


async def test_a_rejected_request_does_not_prevent_an_export_and_is_replaced(use_cases: UseCaseEnv) -> None:
    approvals = await planted(use_cases)
    first = await approvals.first.ok("DELETE", f"/v1/users/{ANNA}")
    assert (await approvals.second.ok("POST", f"/v1/users/{ANNA}/export"))["state"] == "running"
    await approvals.decide(approvals.first, "reject")
    second = await approvals.second.ok("DELETE", f"/v1/users/{ANNA}")
    assert (second["state"], second["id"] == first["id"]) == ("awaiting_approval", False)
    assert (await approvals.decide(approvals.second, "approve"))["code"] == Code.FORBIDDEN
    assert (await approvals.decide(approvals.first, "approve"))["state"] == "running"
    await approvals.first.ok("DELETE", f"/v1/users/{BEN}")
    await approvals.decide(approvals.second, "approve", BEN)
    assert (await approvals.second("POST", f"/v1/users/{BEN}/export")).status_code == 404


async def test_requests_are_listed_newest_first_and_each_once(use_cases: UseCaseEnv) -> None:
    approvals = await planted(use_cases)
    for user in (ANNA, BEN):
        await approvals.first.ok("DELETE", f"/v1/users/{user}")
        approvals.use_cases.clock.ahead_ms += 1_000
    approvals.use_cases.clock.ahead_ms += APPROVAL_MS
    assert (await approvals.first.ok("GET", f"/v1/users/{ANNA}/erasure"))["state"] == "expired"
    again = await approvals.second.ok("DELETE", f"/v1/users/{ANNA}")
    found = (await approvals.rest.erasures.listed(approvals.tenant, 50, None)).erasures
    assert [(each.user, each.may_run) for each in found] == [(ANNA, False), (BEN, False)]
    assert found[0].id == again["id"]
    page = await approvals.rest.erasures.listed(approvals.tenant, 1, None)
    rest = await approvals.rest.erasures.listed(approvals.tenant, 5, page.before)
    assert [each.user for each in (*page.erasures, *rest.erasures)] == [ANNA, BEN]
