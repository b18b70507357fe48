"""partition_key_distributed: with more users no partition key gets more requests, on real engines."""

from dataclasses import replace

import pytest
from contract.api.test_notifications import INBOX, NEWS
from contract.schema.traffic import Traffic, concentrated, watched
from fixtures.rest_app import RestApp
from fixtures.tables import Tables
from fixtures.use_cases import UseCaseEnv

from tidings.accounts.model import Scope
from tidings.jobs import store
from tidings.kernel.ids import UserId
from tidings.schema.tables.items import inboxes

FEW, MANY = 5, 20
SHARED = {
    # Every reader of a broadcast reads its content: at most 3,000 reads a second of 4 KB, which DynamoDB can't spread.
    "inbox t#{tenant}M#{notification}",
}
"""Kinds of keys that many users share by design, with the bound of their load."""


async def day(use_cases: UseCaseEnv, prefix: str, people: int) -> Traffic:
    """Let each user do the same: be created, write to another, read, get a notification, read a broadcast."""
    own = UseCaseEnv(use_cases.client, f"{use_cases.tenant}-{people}", use_cases.key_file)
    env = RestApp(own)
    users, notifications = env.server(Scope.USERS), env.server(Scope.NOTIFICATIONS)
    names = [f"user-{number}" for number in range(people)]
    with watched(own.client, prefix) as traffic:
        await notifications.ok("PUT", INBOX, NEWS)
        await notifications.ok("POST", f"{INBOX}/broadcasts", {"message": {"title": "all"}})
        for number, name in enumerate(names):
            phone = f"+4915112345{number:03d}"
            await users.ok("POST", "/v1/users", {"id": name, "phone": phone, "display_name": name})
        for number, name in enumerate(names):
            await live(env, name, names[number - 1])
            await notifications.ok(
                "POST", f"{INBOX}/notifications", {"user_ids": [name], "message": {"title": "hi"}}
            )
            await env.work()
            await env.user(UserId(name)).ok("GET", f"{INBOX}/notifications")
    return traffic


async def live(env: RestApp, name: str, other: str) -> None:
    user = env.user(UserId(name))
    chat = (await user.ok("POST", "/v1/chats", {"type": "direct", "user": other}))["id"]
    for number in range(2):
        body = {"text": "hi", "client_message_id": f"{name}-{number}"}
        await user.ok("POST", f"/v1/chats/{chat}/messages", body)
    await env.settle()
    for path in ("/v1/me", "/v1/chats", f"/v1/chats/{chat}/messages", f"/v1/users/{other}"):
        await user.ok("GET", path)


async def test_no_partition_key_gets_more_requests_with_more_users(
    use_cases: UseCaseEnv, tables: Tables
) -> None:
    few, many = await day(use_cases, tables.prefix, FEW), await day(use_cases, tables.prefix, MANY)
    assert concentrated(few, many).keys() <= SHARED
    of_tenants = replace(many, requests=many.requests.copy())
    for kind, requests in many.requests.items():
        of_tenants.requests[kind] = type(requests)({"tenant": requests.total()})
    unspread = many.requests.keys() - concentrated(few, of_tenants).keys()
    cached = {"inbox t#{tenant}", "inbox t#{tenant}B#{inbox}", "tenants {tenant}"}
    assert unspread == cached | {"audit {tenant}#{month}"}, (
        "with the tenant alone as key every table would be hot, except where processes have a cache, and the records of "
        "administrative actions, which do not grow with the users"
    )


@pytest.mark.parametrize("tables", ["dynoxide"], indirect=True)
async def test_a_hash_that_concentrates_all_users_is_found(
    use_cases: UseCaseEnv, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "stable_hash", lambda _: 7)
    monkeypatch.setattr(store, "due_shard", lambda _: 7)
    few, many = await day(use_cases, tables.prefix, FEW), await day(use_cases, tables.prefix, MANY)
    found = concentrated(few, many).keys() - SHARED
    assert found == {"inbox t#{tenant}D#{bucket}", "inbox t#{tenant}L#{shard}", "inbox t#_Q#{shard}"}
