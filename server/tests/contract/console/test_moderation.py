"""Moderators see a reported message in context, decide with a reason, and change the lists."""

from dataclasses import replace

from fixtures.console_app import ConsoleApp
from fixtures.use_cases import ANNA, BEN, CLEO

from tidings.kernel.errors import Code
from tidings.moderation.model import ReportReason
from tidings.moderation.reviews import ReportRequest
from tidings.operators.model import Role


async def test_a_moderator_reads_the_context_and_decides(console: ConsoleApp) -> None:
    env, path = console.use_cases, f"/admin/v1/tenants/{console.tenant}"
    chat = await env.group(BEN, CLEO)
    sent = [await env.send(chat, BEN if n == 4 else ANNA, f"text {n}") for n in range(12)]
    reports = console.moderation.reports
    await reports.report_message(chat, sent[4].sequence, ReportRequest(CLEO, ReportReason.ABUSE, "rude"))
    support, review = await console.caller(Role.SUPPORT, console.tenant), f"m.{sent[4].message_id}"
    listed = await support("GET", f"{path}/reviews")
    assert "text 4" not in listed.text
    assert await console.records(console.tenant) == [], "the list has no content"
    shown = (await support("POST", f"{path}/reviews/{review}/context")).json()
    assert [each["text"] for each in shown["messages"]] == [f"text {n}" for n in range(10)]
    assert [each["text"] for each in shown["messages"] if each["is_reported"]] == ["text 4"]
    assert (shown["reports"][0]["text"], shown["chat_type"]) == ("rude", "group")
    assert [each.operation for each in await console.records(console.tenant)] == ["read_review"] * 2
    body = {"action": "ban", "reason": "abuse"}
    refused = await support("POST", f"{path}/reviews/{review}/decision", body)
    assert refused.json()["code"] == Code.FORBIDDEN
    operator = await console.caller(Role.OPERATOR, console.tenant)
    without = await replace(operator, reason=None)("POST", f"{path}/reviews/{review}/decision", body)
    assert without.json()["code"] == Code.REQUEST_INVALID
    decided = (await operator("POST", f"{path}/reviews/{review}/decision", body)).json()
    assert decided["decision"]["action"] == "ban"
    finished, started = (await console.records(console.tenant))[:2]
    assert (finished.operation, finished.outcome, started.reason) == ("decide_review", "ok", "ticket 4711")


async def test_the_lists_are_changed_with_a_reason(console: ConsoleApp) -> None:
    path = f"/admin/v1/tenants/{console.tenant}/content-rules"
    operator = await console.caller(Role.OPERATOR, console.tenant)
    lists = {"words": [{"text": "darn", "action": "refuse"}], "domains": []}
    assert (await operator("PUT", path, lists)).json() == lists
    support = await console.caller(Role.SUPPORT, console.tenant)
    assert (await support("GET", path)).json() == lists
    assert (await support("PUT", path, lists)).json()["code"] == Code.FORBIDDEN
