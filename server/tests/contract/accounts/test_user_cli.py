"""`tidings user` on both engines, as an operator types it."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixtures.accounts_env import NUMBER, OpenAccountsEnv
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, file_rows

from tidings.accounts.model import Device
from tidings.cli import tidings
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import DeviceId, TenantId
from tidings.tenants.model import WrappedKey
from tidings.tenants.store import DynamoKeyStore


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: Tables) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables.prefix)
    monkeypatch.setenv("COLUMNS", "200")


def typed(*words: str) -> Result:
    return CliRunner().invoke(tidings, ["user", *words])


def fails_with(result: Result) -> Code:
    assert isinstance(result.exception, TidingsError)
    return result.exception.code


def test_a_user_is_created_and_shown(space: Namespace) -> None:
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    made = typed("create", space.tenant, "--id", "anna", "--phone", NUMBER, "--name", "Anna", "--json")
    assert made.exit_code == 0, made.output
    user = json.loads(made.stdout)
    assert (user["tenant"], user["user"], user["phone"]) == (space.tenant, "anna", NUMBER)
    shown = user | {"presence": None, "last_seen_at": None, "chats": 0}
    assert json.loads(typed("show", space.tenant, "anna", "--json").stdout) == shown
    assert json.loads(typed("show", space.tenant, "--phone", NUMBER, "--json").stdout) == shown
    plain = typed("show", space.tenant, "anna").output
    assert "Anna" in plain
    assert NUMBER in plain


@pytest.mark.parametrize(
    "name", ["[/x]", "\x1b]0;owned\x07Anna", "[link=https://evil.example]Support[/link]"]
)
def test_a_hostile_name_is_shown_as_text(space: Namespace, name: str) -> None:
    typed("create", space.tenant, "--id", "anna", "--name", name)
    shown = typed("show", space.tenant, "anna")
    assert shown.exit_code == 0, shown.exception
    assert "\x1b" not in shown.output
    assert name.replace("\x1b", "").replace("\x07", "") in shown.output


def listed(tenant: str, *words: str) -> Result:
    return CliRunner().invoke(tidings, ["message", "list", "--tenant", tenant, *words])


async def _send_every_minute(use_cases: AsyncFixture[UseCaseEnv], count: int) -> list[str]:
    """Create a direct chat and a group. Send messages to the direct chat and return their times."""
    sent_at: list[str] = []
    async with use_cases.open() as env:
        chat = await env.manage.direct(env.tenant, ANNA, BEN)
        await env.group(CLEO)
        for n in range(count):
            env.clock.ahead_ms += 60_000
            sent_at.append(format_ms(env.clock.now_ms()))
            await env.send(chat, ANNA, f"secret {n}")
    return sent_at


async def _create_direct_chats(use_cases: AsyncFixture[UseCaseEnv]) -> None:
    async with use_cases.open() as env:
        for other in (BEN, CLEO, DORA):
            await env.manage.direct(env.tenant, ANNA, other)


def test_support_finds_a_message_by_user_and_time_and_sees_no_content(
    use_cases: AsyncFixture[UseCaseEnv], space: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_at = asyncio.run(_send_every_minute(use_cases, 12))
    typed("create", space.tenant, "--id", "anna")
    assert json.loads(typed("show", space.tenant, "anna", "--json").stdout)["chats"] == 2
    own = json.loads(typed("chats", space.tenant, "anna", "--json").stdout)
    assert [(each["type"], each["others"]) for each in own] == [("direct", ["ben"]), ("group", ["cleo"])]
    chat = own[0]["chat"]
    assert own[0]["newest_message"] == f"{chat}.13"

    monkeypatch.setenv("COLUMNS", "40")
    assert f"{chat}.13" in typed("chats", space.tenant, "anna").output
    asked = ("--chat", chat, "--around", sent_at[5], "--limit", "4")
    found = listed(space.tenant, *asked, "--json")
    page = json.loads(found.stdout)
    assert [each["message"] for each in page["messages"]] == [f"{chat}.{n}" for n in (5, 6, 7, 8)]
    assert {each["sender"] for each in page["messages"]} == {"anna"}
    assert (page["has_earlier"], page["has_later"]) == (True, True)
    plain = listed(space.tenant, *asked).output
    assert f"{chat}.7" in plain
    assert "secret" not in found.output + plain


def test_the_chats_of_a_user_are_shown_page_by_page(
    use_cases: AsyncFixture[UseCaseEnv], space: Namespace
) -> None:
    asyncio.run(_create_direct_chats(use_cases))
    seen: list[str] = []
    for _ in range(3):
        after = ("--after", seen[-1]) if seen else ()
        [one] = json.loads(typed("chats", space.tenant, "anna", "--limit", "1", *after, "--json").stdout)
        seen.append(one["chat"])
    assert len(set(seen)) == 3
    assert seen[0] in typed("chats", space.tenant, "anna", "--limit", "1").output


def test_users_are_listed_found_and_suspended(space: Namespace) -> None:
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    typed("create", space.tenant, "--id", "anna", "--phone", NUMBER, "--name", "Anna Schmidt")
    typed("create", space.tenant, "--id", "ben")

    def found(*words: str) -> list[str]:
        return [user["user"] for user in json.loads(typed(*words, "--json").output)]

    assert sorted(found("list", space.tenant)) == ["anna", "ben"]
    assert len(found("list", space.tenant, "--limit", "1")) == 1
    assert found("find", space.tenant, "--prefix", "an") == ["anna"]
    assert found("find", space.tenant, "--name", "schmidt") == ["anna"]
    assert found("find", space.tenant, "--phone", NUMBER) == ["anna"]
    assert found("find", space.tenant, "--prefix", "x") == []
    assert typed("find", space.tenant).exit_code == 2
    assert typed("suspend", space.tenant, "anna").exit_code == 0
    assert json.loads(typed("show", space.tenant, "anna", "--json").output)["suspended_at"]
    assert typed("unsuspend", space.tenant, "anna").exit_code == 0
    assert json.loads(typed("show", space.tenant, "anna", "--json").output)["suspended_at"] is None
    assert fails_with(typed("suspend", space.tenant, "nobody")) is Code.USER_NOT_FOUND


BY_NUMBER = (("show", "nope", "--phone", NUMBER), ("find", "nope", "--phone", NUMBER))


def test_a_tenant_that_does_not_exist_is_named() -> None:
    for command in (("show", "nope", "anna"), ("end-sessions", "nope", "anna"), *BY_NUMBER):
        failed = typed(*command).exception
        assert isinstance(failed, TidingsError)
        assert failed.message == "Tenant nope does not exist."


def test_a_look_up_by_number_creates_no_keys_for_a_mistyped_tenant(
    use_cases: AsyncFixture[UseCaseEnv],
) -> None:
    async def keys_of_the_tenant() -> Sequence[WrappedKey]:
        async with use_cases.open() as env:
            return await DynamoKeyStore(env.client).list(TenantId("nope"))

    for command in BY_NUMBER:
        typed(*command)
    assert not asyncio.run(keys_of_the_tenant())


@pytest.mark.parametrize(
    "words",
    [
        ("inbox", "send", "nope", "news", "--to", "anna", "--message", "{}"),
        ("inbox", "show", "nope", "news"),
        ("job", "watch", "nope", "0" * 26),
        ("job", "cancel", "nope", "0" * 26),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_missing_tenant_is_named_by_inbox_and_job_commands(
    words: tuple[str, ...], space: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a tenant that exists, the same command names the inbox or the job."""
    monkeypatch.setenv(
        "TIDINGS_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9"
    )  # nothing is published, so neither engine is needed
    monkeypatch.setenv("TIDINGS_REDIS_URL", "redis://127.0.0.1:9/0")
    failed = CliRunner().invoke(tidings, words).exception
    assert isinstance(failed, TidingsError)
    assert failed.message == "Tenant nope does not exist."
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    existing = [space.tenant if word == "nope" else word for word in words]
    wanted = Code.INBOX_NOT_FOUND if words[0] == "inbox" else Code.JOB_NOT_FOUND
    assert fails_with(CliRunner().invoke(tidings, existing)) is wanted


def test_an_invalid_request_is_reported_with_its_code(space: Namespace) -> None:
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    typed("create", space.tenant, "--id", "anna", "--phone", NUMBER)
    assert fails_with(typed("create", space.tenant, "--id", "anna")) is Code.USER_EXISTS
    assert fails_with(typed("create", space.tenant, "--phone", NUMBER)) is Code.PHONE_TAKEN
    assert fails_with(typed("create", space.tenant, "--phone", "0151")) is Code.REQUEST_INVALID
    assert fails_with(typed("create", "_system", "--id", "anna")) is Code.REQUEST_INVALID
    assert fails_with(typed("show", space.tenant, "ben")) is Code.USER_NOT_FOUND
    assert fails_with(typed("show", space.tenant, "--phone", "+4915100000000")) is Code.USER_NOT_FOUND
    assert fails_with(typed("end-sessions", space.tenant, "ben")) is Code.USER_NOT_FOUND
    assert typed("show", space.tenant).exit_code == 2


def test_sessions_are_listed_and_ended(
    open_accounts: OpenAccountsEnv, space: Namespace, tmp_path: Path
) -> None:
    async def log_in_three_times() -> str:
        async with open_accounts() as accounts:
            accounts.session_rows._rows = file_rows(accounts.client, tmp_path)
            devices = [Device(id=DeviceId(f"laptop-{n}"), name="Anna's laptop") for n in range(3)]
            users = [(await accounts.log_in(device=device)).user.user for device in devices]
            return users[0]

    user = asyncio.run(log_in_three_times())
    listed = json.loads(typed("sessions", space.tenant, user, "--json").stdout)
    assert sorted(session["device"] for session in listed) == ["laptop-0", "laptop-1", "laptop-2"]
    assert all("hash" not in name for session in listed for name in session)
    assert "Anna's laptop" in typed("sessions", space.tenant, user).output
    one = listed[0]["session"]
    assert "1 sessions ended" in typed("end-sessions", space.tenant, user, "--session", one).output
    assert typed("end-sessions", space.tenant, user, "--session", one).exit_code == 1
    assert json.loads(typed("end-sessions", space.tenant, user, "--json").stdout) == {"ended": 2}
    assert json.loads(typed("sessions", space.tenant, user, "--json").stdout) == []
