"""Moderation over REST: what admins see, and what the audit log has."""

from fixtures.credentials import create_tenant_row
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.audit.log import AuditLog
from tidings.audit.model import AuditPhase
from tidings.audit.store import DynamoAuditStore
from tidings.kernel.clock import format_ms


async def test_admins_restrict_and_members_see_it_in_the_log(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben, cleo = api.user(ANNA), api.user(BEN), api.user(CLEO)
    chat = await use_cases.group(BEN)
    at = f"/v1/chats/{chat.chat}"
    await anna.ok("PUT", f"{at}/rules", {"is_frozen": True, "slow_mode_seconds": 5, "join_rule": "open"})
    shown = await ben.ok("GET", at)
    assert (shown["is_frozen"], shown["slow_mode_seconds"], shown["join_rule"]) == (True, 5, "open")
    await cleo.ok("POST", f"{at}/join", {})
    await anna.ok("PUT", f"{at}/members/cleo/mute", {"until": "2999-01-01T00:00:00Z", "reason": "spam"})
    await anna.ok("PUT", f"{at}/bans/cleo", {"reason": "spam"})
    assert await anna.ok("GET", f"{at}/bans") == {"bans": [{"user": "cleo", "reason": "spam"}]}
    entries = (await ben.ok("GET", f"{at}/messages"))["entries"]
    by_kind = {entry["kind"]: entry for entry in entries}
    assert by_kind["rules"]["rules"] == {"is_frozen": True, "slow_mode_seconds": 5, "join_rule": "open"}
    assert by_kind["mute"]["until"] == "2999-01-01T00:00:00.000Z"
    assert (by_kind["leave"]["role"], by_kind["leave"]["reason"]) == ("ban", "spam")


async def test_a_member_sees_what_keeps_them_from_sending(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    chat = await use_cases.group(BEN)
    at = f"/v1/chats/{chat.chat}"
    await anna.ok("PUT", f"{at}/rules", {"slow_mode_seconds": 60})
    assert "may_send_at" not in await ben.ok("GET", at)
    await use_cases.send(chat, BEN)
    await use_cases.send(chat, ANNA)
    assert (await ben.ok("GET", at))["may_send_at"] > format_ms(use_cases.clock.now_ms() + 30_000)
    assert "may_send_at" not in await anna.ok("GET", at), "admins are exempt"
    await anna.ok("PUT", f"{at}/members/ben/mute", {"until": "2999-01-01T00:00:00Z"})
    muted = await ben.ok("GET", at)
    assert (muted["is_muted"], muted["muted_until"]) == (True, "2999-01-01T00:00:00.000Z")
    await anna.ok("PUT", f"{at}/members/ben/mute", {})
    muted = await ben.ok("GET", at)
    assert muted["is_muted"]
    assert "muted_until" not in muted, "without an end"
    await anna.ok("DELETE", f"{at}/members/ben/mute")
    use_cases.clock.ahead_ms += 61_000
    free = await ben.ok("GET", at)
    assert not free["is_muted"]
    assert "may_send_at" not in free


async def test_the_audit_log_has_the_actions_of_admins(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    chat = await use_cases.group(BEN)
    await api.user(ANNA).ok("PUT", f"/v1/chats/{chat.chat}/bans/ben", {"reason": "spam"})
    log = AuditLog(DynamoAuditStore(use_cases.client), use_cases.clock)
    end, start = (await log.page(use_cases.tenant, None, 10, None)).records
    assert (start.actor, start.operation, start.phase) == ("user:anna", "ban_user", AuditPhase.STARTED)
    assert start.target == f"/v1/chats/{chat.chat}/bans/ben"
    assert (end.action_id, end.outcome) == (start.action_id, "ok")


async def test_the_lists_of_a_tenant_are_replaced(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    await create_tenant_row(use_cases, use_cases.tenant)
    server = api.server(Scope.MODERATION)
    lists = {
        "words": [{"text": "darn", "action": "mask"}],
        "domains": [{"text": "bad.example", "action": "refuse"}],
    }
    assert await server.ok("PUT", "/v1/content-rules", lists) == lists
    assert await server.ok("GET", "/v1/content-rules") == lists
