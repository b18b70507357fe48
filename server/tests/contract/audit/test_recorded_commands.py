"""Every administrative command is recorded, on real tables."""

import getpass
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from fixtures.engines import Namespace
from fixtures.tables import REGION, Tables

from tidings.audit.store import DynamoAuditStore
from tidings.cli import COMMANDS, tidings
from tidings.cli.security import ADMINISTRATIVE, READING, is_recorded
from tidings.kernel.errors import Code, TidingsError

type Run = Callable[..., Result]

LOCAL = {
    *("audit", "certificate", "config", "dev", "docs", "doctor", "drill"),
    *("engines", "explain", "message", "plan", "run", "token", "trace"),
}
"""Groups that change nothing in an installation: they read it, or use processes, engines and tables of their own."""


@pytest.fixture
def run(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables.prefix)
    return lambda *words: CliRunner().invoke(tidings, words)


def leaves(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, (*path, name))
    else:
        yield path, command


def all_commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(tidings)
    for name in COMMANDS:
        command = tidings.get_command(context, name)
        assert command is not None
        yield from leaves(command, (name,))


def test_every_group_is_either_recorded_or_known_to_change_nothing() -> None:
    assert set(COMMANDS) == ADMINISTRATIVE | LOCAL
    assert ADMINISTRATIVE.isdisjoint(LOCAL)


def test_every_command_of_an_administrative_group_records_or_reads() -> None:
    recorded = {path for path, command in all_commands() if hasattr(command.callback, "_tidings_audited")}
    assert recorded == {path for path, _ in all_commands() if is_recorded(path)}
    unrecorded = {path for path, _ in all_commands() if path[0] in ADMINISTRATIVE} - recorded
    assert {path[-1] for path in unrecorded} <= READING
    assert len(recorded) >= 30, "a change of the groups must not switch the records off"
    assert {("user", "suspend"), ("tenant", "api-key", "new"), ("restore", "finish")} <= recorded


def records(run: Run, tenant: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run("audit", "list", "--tenant", tenant, "--json").stdout)[
        "records"
    ]
    return found


def test_a_command_is_recorded_with_its_user_reason_and_change(run: Run, space: Namespace) -> None:
    tenant = space.tenant
    assert run("--reason", "ticket 12", "tenant", "create", tenant, "--name", "Acme").exit_code == 0
    finished, started = records(run, tenant)
    assert (started["phase"], finished["phase"], finished["outcome"]) == ("started", "finished", "ok")
    assert started["action_id"] == finished["action_id"]
    assert str(finished["actor"]).startswith(f"os:{getpass.getuser()}@")
    assert (finished["source"], finished["operation"], finished["reason"]) == (
        "cli",
        "tenant create",
        "ticket 12",
    )
    assert run("tenant", "set", tenant, "--name", "Acme Corp").exit_code == 0
    changed = records(run, tenant)[0]
    assert isinstance(changed["before"], dict)
    assert isinstance(changed["after"], dict)
    assert (changed["before"]["name"], changed["after"]["name"]) == ("Acme", "Acme Corp")
    assert "reason" not in changed


def test_the_secret_of_an_api_key_is_not_recorded(run: Run, space: Namespace) -> None:
    assert run("tenant", "create", space.tenant).exit_code == 0
    made = run("tenant", "api-key", "new", space.tenant, "--name", "server", "--scope", "users")
    secret = made.stdout.strip().rpartition(".")[2]
    found = records(run, space.tenant)
    assert found[0]["after"] == {"key": made.stdout.split(".")[2], "title": "server", "scopes": ["users"], "expires_at": None}  # fmt: skip
    assert secret not in json.dumps(found)


def test_a_failed_command_is_recorded_with_its_error(run: Run, space: Namespace) -> None:
    assert run("tenant", "create", space.tenant).exit_code == 0
    assert run("user", "suspend", space.tenant, "nobody").exit_code == 1
    found = records(run, space.tenant)[0]
    assert (found["operation"], found["outcome"], found["target"]) == (
        "user suspend",
        "user_not_found",
        "user/nobody",
    )


def test_a_command_that_reads_or_is_misspelt_is_not_recorded(run: Run, space: Namespace) -> None:
    assert run("tenant", "create", space.tenant).exit_code == 0
    before = records(run, space.tenant)
    assert run("tenant", "show", space.tenant).exit_code == 0
    assert run("tenant", "set", space.tenant, "--no-such-option").exit_code == 2
    assert records(run, space.tenant) == before


def test_a_command_does_not_run_without_the_log(
    run: Run, space: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise TidingsError(Code.OVERLOADED, "the log does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(DynamoAuditStore, "append", refuse)
        result = run("tenant", "create", space.tenant)
    assert isinstance(result.exception, TidingsError)
    assert result.exception.code is Code.OVERLOADED
    assert space.tenant not in run("tenant", "list").stdout


def test_an_export_prints_json_lines_and_continues(run: Run, space: Namespace) -> None:
    assert run("tenant", "create", space.tenant).exit_code == 0
    assert run("tenant", "set", space.tenant, "--name", "New").exit_code == 0
    words = ("audit", "export", "--tenant", space.tenant, "--settle", "0s")
    lines = [json.loads(line) for line in run(*words).stdout.splitlines()]
    assert [line["operation"] for line in lines] == ["tenant create"] * 2 + ["tenant set"] * 2
    rest = run(*words, "--after", lines[1]["id"]).stdout.splitlines()
    assert [json.loads(line) for line in rest] == lines[2:]
    assert run("audit", "export", "--tenant", space.tenant).stdout == "", (
        "the records are younger than a minute"
    )
