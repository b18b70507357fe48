"""`tidings retention` on a real table, as an operator would use it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.tables import REGION, Tables
from fixtures.use_cases import BEN, UseCaseEnv

from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError

type Run = Callable[..., Result]


@pytest.fixture
def run(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables.prefix)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(tidings, words)

    return invoke


def test_an_operator_sets_limits_and_holds(run: Run, space: Namespace) -> None:
    tenant = space.tenant
    assert run("tenant", "create", tenant).exit_code == 0
    set_ = run("retention", "set", tenant, "--direct-days", "365", "--group-days", "90").stdout
    assert (
        set_
        == "direct chats: expire after 365 days\ngroups: expire after 90 days\narchive: none\nlegal hold: no\n"
    )
    removed = run("retention", "set", tenant, "--direct-days", "none").stdout
    assert removed.startswith("direct chats: kept\ngroups: expire after 90 days\n"), "the other limit stays"
    held_all = run("retention", "hold", tenant).stdout
    assert held_all.endswith("legal hold: yes, nothing expires or is archived\n")
    held = run("retention", "set", tenant, "--group-days", "30").stdout
    assert held.endswith("legal hold: yes, nothing expires or is archived\n"), (
        "a new limit does not release the hold"
    )
    assert run("retention", "release", tenant).stdout.endswith("legal hold: no\n")
    archived = run("retention", "set", tenant, "--archive-days", "30").stdout
    assert "groups: expire after 30 days\narchive: after 30 days\n" in archived
    early = run("retention", "set", tenant, "--archive-days", "29").exception
    assert isinstance(early, TidingsError)
    refused = run("retention", "set", tenant, "--group-days", "0").exception
    assert isinstance(refused, TidingsError)
    assert refused.code is Code.REQUEST_INVALID


async def create_group(use_cases: AsyncFixture[UseCaseEnv]) -> str:
    async with use_cases.open() as env:
        return (await env.group(BEN)).chat


def test_an_operator_sets_the_limit_and_the_hold_of_a_chat_and_the_audit_log_has_both(
    run: Run, space: Namespace, use_cases: AsyncFixture[UseCaseEnv]
) -> None:
    tenant = space.tenant
    assert run("tenant", "create", tenant).exit_code == 0
    chat = asyncio.run(create_group(use_cases))
    limited = run("retention", "chat", tenant, chat, "--days", "10").stdout
    assert (
        limited
        == "messages: expire after 10 days\nlegal hold: no\nexpired up to sequence: 0\narchived up to sequence: 0\n"
    )
    held = run("--reason", "case 4711", "retention", "hold", tenant, "--chat", chat).stdout
    assert "legal hold: yes, nothing expires" in held
    assert "legal hold: yes" in run("retention", "show", tenant, chat).stdout
    assert run("retention", "show", tenant).stdout.endswith("legal hold: no\n"), "that of the tenant"
    assert "legal hold: no" in run("retention", "release", tenant, "--chat", chat).stdout
    assert run("retention", "chat", tenant, chat, "--days", "none").stdout.startswith(
        "messages: limit of the"
    )
    listed = run("audit", "list", "--tenant", tenant, "--json").stdout
    assert "case 4711" in listed
    assert f"chat/{chat}" in listed
    absent = run("retention", "hold", tenant, "--chat", "gAAAA").exception
    assert isinstance(absent, TidingsError)
    assert absent.code is Code.CHAT_NOT_FOUND
