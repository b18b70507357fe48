"""Operators configure inboxes, try a send before it is sent, control jobs, and recall with a proof."""

from fixtures.console_app import ConsoleApp
from fixtures.use_cases import ANNA, BEN

from tidings.api.schemas.broadcasts import SegmentBody
from tidings.kernel.errors import Code
from tidings.operators.model import Role

NEWS = {"title": "News", "payload_schema": {"type": "object", "required": ["title"]}}


async def test_a_send_is_tried_sent_and_recalled_with_a_proof(console: ConsoleApp) -> None:
    operator, path = (
        await console.caller(Role.OPERATOR, console.tenant),
        f"/admin/v1/tenants/{console.tenant}",
    )
    inbox = f"{path}/inboxes/default"
    assert (await operator("PUT", inbox, NEWS)).json()["schema_version"] == 1
    for message, valid in (({"title": "hi"}, True), ({"text": "hi"}, False)):
        preview = (await operator("POST", f"{inbox}/preview", {"message": message})).json()
        assert preview["valid"] is valid
        assert ("error" in preview) is not valid
    await console.services.users.create(console.tenant, ANNA)
    body = {"user_ids": ["anna", "ghost", "anna"], "message": {"title": "hi"}}
    tried = (await operator("POST", f"{inbox}/notifications?dry_run=true", body)).json()
    assert tried == {"dry_run": True, "total": 2, "unknown_users": ["ghost"]}
    assert (await operator("GET", f"{path}/jobs")).json() == {"jobs": []}, "a dry run sends nothing"
    faulty = body | {"message": {"text": "hi"}}
    refused = await operator("POST", f"{inbox}/notifications?dry_run=true", faulty)
    assert refused.json()["code"] == Code.CONTENT_INVALID
    sent = (await operator("POST", f"{inbox}/notifications", body)).json()["sent"]
    assert (await operator("POST", f"{path}/jobs/{sent['job']}/pause")).json()["state"] == "paused"
    assert (await operator("POST", f"{path}/jobs/{sent['job']}/resume")).json()["state"] == "running"
    await console.rest.work()
    job = (await operator("GET", f"{path}/jobs/{sent['job']}")).json()
    assert (job["state"], job["done"]) == ("done", 2)
    recalled = (await operator("DELETE", f"{inbox}/notifications/{sent['id']}")).json()
    await console.rest.work()
    assert (await operator("GET", f"{path}/jobs/{recalled['job']}")).json()["state"] == "done"
    proof = (await operator("GET", f"{inbox}/notifications/{sent['id']}/recipients")).json()["users"]
    assert [each["user"] for each in proof] == ["anna", "ghost"]
    assert all(each["removed_at"] for each in proof)
    operations = [each.operation for each in await console.records(console.tenant, 50) if each.outcome]
    assert operations[::-1] == [
        *("set_inbox", "send_notification", "send_notification", "send_notification"),
        *("pause_job", "resume_job", "recall_notification"),
    ]


async def test_a_viewer_checks_messages_against_the_stored_schema_only(console: ConsoleApp) -> None:
    viewer, operator = [await console.caller(role, console.tenant) for role in (Role.VIEWER, Role.OPERATOR)]
    inbox = f"/admin/v1/tenants/{console.tenant}/inboxes/default"
    await operator("PUT", inbox, NEWS)
    stored, other = {"payload_schema": NEWS["payload_schema"]}, {"payload_schema": {"required": ["text"]}}
    message = {"message": {"title": "hi"}}
    for body in (message, message | stored):
        assert (await viewer("POST", f"{inbox}/preview", body)).json()["valid"] is True
    refused = await viewer("POST", f"{inbox}/preview", message | other)
    assert (refused.status_code, refused.json()["code"]) == (403, Code.FORBIDDEN)
    for wrong in (other, {"payload_schema": {"type": "nonsense"}}):
        assert (await operator("POST", f"{inbox}/preview", message | wrong)).json()["valid"] is False


async def test_a_broadcast_is_estimated_sent_and_halted(console: ConsoleApp) -> None:
    operator, path = (
        await console.caller(Role.OPERATOR, console.tenant),
        f"/admin/v1/tenants/{console.tenant}",
    )
    inbox = f"{path}/inboxes/default"
    await operator("PUT", inbox, NEWS)
    predicate = SegmentBody.model_config["json_schema_extra"]["examples"][0]  # type: ignore[index]
    assert (await operator("PUT", f"{path}/segments/pro", predicate)).status_code == 200
    assert (await operator("GET", f"{path}/segments")).json()["segments"][0]["name"] == "pro"
    body = {
        "message": {"title": "We are back"},
        "ramp": [{"percent": 10}, {"percent": 50, "after_s": 60}],
    }
    tried = (await operator("POST", f"{inbox}/broadcasts?dry_run=true", body)).json()
    assert tried["dry_run"]
    assert "estimate" in tried
    sent = (await operator("POST", f"{inbox}/broadcasts", body)).json()["sent"]
    ramped = await operator("POST", f"{inbox}/broadcasts/{sent['id']}/ramp", {"percent": 20})
    assert ramped.status_code == 200, ramped.text
    assert (await operator("POST", f"{inbox}/broadcasts/{sent['id']}/halt")).status_code == 200
    assert (await operator("GET", f"{inbox}/broadcasts/{sent['id']}")).status_code == 200
    assert (await console.records(console.tenant))[0].operation == "halt_broadcast"


async def test_a_version_of_a_list_is_activated_and_its_reach_is_estimated(console: ConsoleApp) -> None:
    segments, tenant = console.services.notifications.segments, console.tenant
    operator = await console.caller(Role.OPERATOR, tenant)
    path = f"/admin/v1/tenants/{tenant}/segments/vip"
    await segments.upload(tenant, "vip", [ANNA, BEN], None)
    await segments.activate(tenant, "vip", 1)
    await segments.upload(tenant, "vip", [ANNA], None)
    assert (await operator("GET", f"{path}/reach")).json()["reach"] == 2
    changed = (await operator("POST", f"{path}/activate", {"version": 2})).json()
    assert (changed["active"], changed["newest"]) == (2, 2)
    assert (await console.records(tenant))[0].operation == "activate_segment"
    refused = await operator("POST", f"{path}/activate", {"version": 3})
    assert refused.status_code == 400
