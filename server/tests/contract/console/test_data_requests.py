"""Operators export and erase users, and one approves what another requested."""

from dataclasses import replace

from fixtures.console_app import ConsoleApp
from fixtures.use_cases import ANNA, BEN
from msgspec import structs

from tidings.exports.model import ExportState
from tidings.exports.rules import archive_key
from tidings.exports.store.exports import DynamoExportStore
from tidings.jobs.model import WHOLE_TENANT
from tidings.kernel.errors import Code
from tidings.operators.model import Role


async def with_approval(console: ConsoleApp) -> str:
    """Require a second approver as an owner, and return the path of the tenant."""
    path = f"/admin/v1/tenants/{console.tenant}"
    owner = await console.caller(Role.OWNER, console.tenant)
    changed = await owner("PATCH", path, {"erasure_approval": True})
    assert changed.json()["settings"]["erasure_approval"] is True
    for user in (ANNA, BEN):
        await console.rest.accounts.users.create(console.tenant, user)
    return path


async def test_an_operator_requests_and_an_owner_approves(console: ConsoleApp) -> None:
    path = await with_approval(console)
    user = f"{path}/users/{ANNA}"
    operator = await console.caller(Role.OPERATOR, console.tenant)
    owner = await console.caller(Role.OWNER, console.tenant)
    without = await replace(operator, reason=None)("POST", f"{user}/erasure")
    assert without.json()["code"] == Code.REQUEST_INVALID
    requested = (await operator("POST", f"{user}/erasure")).json()
    assert (requested["state"], requested["requested_by"]) == ("awaiting_approval", "oidc:operator")
    refused = await operator("POST", f"{user}/erasure/decision", {"action": "approve"})
    assert refused.json()["code"] == Code.FORBIDDEN
    support = await console.caller(Role.SUPPORT, console.tenant)
    assert (await support("GET", f"{user}/data-requests")).json()["erasure"] == requested
    approved = (await owner("POST", f"{user}/erasure/decision", {"action": "approve"})).json()
    assert (approved["state"], approved["decided_by"]) == ("running", "oidc:owner")
    late = await operator("POST", f"{user}/erasure/decision", {"action": "reject"})
    assert late.json()["code"] == Code.NO_CHANGE
    records = [each for each in await console.records(console.tenant) if each.outcome == "ok"]
    assert [each.operation for each in records] == ["decide_erasure", "erase_user", "set_tenant"]
    assert [each.reason for each in records] == ["ticket 4711"] * 3


async def test_an_operator_cannot_turn_the_approval_off(console: ConsoleApp) -> None:
    path = await with_approval(console)
    operator = await console.caller(Role.OPERATOR, console.tenant)
    refused = await operator("PATCH", path, {"erasure_approval": False})
    assert refused.json()["code"] == Code.FORBIDDEN
    await operator("POST", f"{path}/users/{ANNA}/erasure")
    owner = await console.caller(Role.OWNER, console.tenant)
    await owner("PATCH", path, {"erasure_approval": False})
    finished = (await console.records(console.tenant))[0]
    assert (finished.before["has_erasure_approval"], finished.after["has_erasure_approval"]) == (True, False)
    again = (await operator("POST", f"{path}/users/{ANNA}/erasure")).json()
    assert again["state"] == "awaiting_approval", "the request still waits"


async def test_the_list_has_requests_and_the_deletion_of_the_tenant(console: ConsoleApp) -> None:
    path = await with_approval(console)
    operator = await console.caller(Role.OPERATOR, console.tenant)
    for user in (ANNA, BEN):
        await operator("POST", f"{path}/users/{user}/erasure")
        console.use_cases.clock.ahead_ms += 1_000
    await console.services.erasures.request(console.tenant, WHOLE_TENANT, "operator:eve")
    listed = (await operator("GET", f"{path}/erasures?limit=2")).json()
    assert listed["deletion"]["requested_by"] == "operator:eve"
    more = (await operator("GET", f"{path}/erasures?limit=2&cursor={listed['cursor']}")).json()
    users = [each["user"] for each in (*listed["erasures"], *more["erasures"])]
    assert (users, "deletion" in more) == ([BEN, ANNA], False)
    decision = {"action": "reject"}
    assert (await operator("POST", f"{path}/deletion/decision", decision)).json()["code"] == Code.FORBIDDEN
    owner = await console.caller(Role.OWNER, console.tenant)
    assert (await owner("POST", f"{path}/deletion/decision", decision)).json()["state"] == "rejected"


async def test_the_url_of_an_archive_needs_a_reason_and_is_recorded(console: ConsoleApp) -> None:
    path = f"{await with_approval(console)}/users/{ANNA}"
    operator = await console.caller(Role.OPERATOR, console.tenant)
    support = await console.caller(Role.SUPPORT, console.tenant)
    assert (await support("GET", f"{path}/data-requests")).json() == {"can_export": True}
    assert (await support("POST", f"{path}/export")).json()["code"] == Code.FORBIDDEN
    assert (await operator("POST", f"{path}/export")).json()["state"] == "running"
    store = DynamoExportStore(console.use_cases.client)
    export = await store.read(console.tenant, ANNA)
    assert export is not None
    taken = await store.take(export)
    assert taken is not None
    assert await store.save(structs.replace(taken, state=ExportState.READY, archive_bytes=7))
    shown = (await support("GET", f"{path}/data-requests")).json()["export"]
    assert (shown["state"], "url" in shown) == ("ready", False)
    assert (await support("POST", f"{path}/export/link")).json()["code"] == Code.FORBIDDEN
    linked = (await operator("POST", f"{path}/export/link")).json()
    assert archive_key(export) in linked["url"]
    finished = (await console.records(console.tenant))[0]
    assert (finished.operation, finished.after, finished.reason) == (
        "link_export",
        {"export": export.id},
        "ticket 4711",
    )
