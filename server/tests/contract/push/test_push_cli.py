"""`tidings push` on a real table, as an operator would use it."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixtures.apns_server import new_p8
from fixtures.engines import Namespace
from fixtures.fcm_server import FcmServer
from fixtures.tables import REGION, Tables

from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError

type Run = Callable[..., Result]


@pytest.fixture
def run(tables: Tables, space: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables.prefix)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(tidings, [each.replace("TENANT", space.tenant) for each in words])

    assert invoke("tenant", "create", "TENANT").exit_code == 0
    return invoke


def refused(result: Result) -> str:
    assert isinstance(result.exception, TidingsError)
    assert result.exception.code is Code.REQUEST_INVALID
    return result.exception.message


def test_credentials_are_set_rotated_and_never_shown(run: Run, tmp_path: Path) -> None:
    key, _ = new_p8("KEY0000001")
    (tmp_path / "key.p8").write_text(key.private_key)
    for key_id in ("KEY0000001", "KEY0000002"):
        words = ("--key-id", key_id, "--team-id", "TEAM000001", "--key-file", "key.p8")
        assert run("push", "set-apns", "TENANT", *words).exit_code == 0
    account = FcmServer(token_uri="https://oauth2.googleapis.com/token").config().accounts[0]
    fields = {name: getattr(account, name) for name in account.__struct_fields__} | {
        "type": "service_account"
    }
    (tmp_path / "fcm.json").write_text(json.dumps(fields))
    assert run("push", "set-fcm", "TENANT", "--service-account", "fcm.json").exit_code == 0
    public = run("push", "set-web-push", "TENANT", "--subject", "mailto:ops@example.com").stdout.split()[0]
    assert len(base64.urlsafe_b64decode(public + "=")) == 65
    secret = run("push", "set-http", "TENANT", "--url", "https://push.example.com/x").stdout.split()[0]
    assert secret.startswith("whsec_")
    shown = run("push", "show", "TENANT").stdout
    assert shown.index("KEY0000002") < shown.index("KEY0000001")
    assert all(kind in shown for kind in ("apns", "fcm", "http", "web_push"))
    assert "PRIVATE" not in shown
    assert secret not in shown
    words = ("--key-id", "KEY0000003", "--team-id", "TEAM000001", "--key-file", "key.p8")
    assert run("push", "set-apns", "TENANT", *words, "--replace").exit_code == 0
    assert "KEY0000002" not in run("push", "show", "TENANT").stdout


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("set-web-push", "TENANT", "--subject", "ops@example.com"), "Invalid credentials"),
        (("set-http", "TENANT", "--url", "http://push.example.com/x"), "it must be https"),
        (("set-web-push", "nobody", "--subject", "mailto:a@example.com"), "does not exist"),
    ],
)
def test_wrong_values_are_refused(run: Run, words: tuple[str, ...], problem: str) -> None:
    assert problem in refused(run("push", *words))


def test_a_file_that_is_no_key_is_refused_without_showing_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "key.p8").write_text("some secret text")
    words = ("--key-id", "KEY0000001", "--team-id", "TEAM000001", "--key-file", "key.p8")
    message = refused(run("push", "set-apns", "TENANT", *words))
    assert "not a private key" in message
    assert "some secret" not in message


def test_settings_are_changed_one_by_one(run: Run) -> None:
    assert run("push", "set", "TENANT", "--previews", "--max-age", "600").exit_code == 0
    assert run("push", "set", "TENANT", "--badge", "chats").exit_code == 0
    assert run("tenant", "set", "TENANT", "--no-push-previews").exit_code == 0
    shown = run("tenant", "show", "TENANT").stdout
    assert shown
    assert run("push", "set", "TENANT", "--max-age", "5").exit_code == 2


def test_texts_are_set_shown_and_removed(run: Run) -> None:
    assert run("push", "set", "TENANT", "--private").exit_code == 0
    words = ("push", "set-texts", "TENANT", "pt-BR")
    assert run(*words, "--mention", "{sender} mencionou você", "--private", "Mensagem").exit_code == 0
    shown = run("push", "show", "TENANT").stdout
    assert "pt-br" in shown
    assert "{sender} mencionou você" in shown
    assert run("push", "set", "TENANT", "--no-private").exit_code == 0
    assert "pt-br" in run("push", "show", "TENANT").stdout, "other settings keep the texts"
    assert "it may contain no placeholder" in refused(run(*words, "--private", "{sender}"))
    assert "at least one text" in refused(run(*words))
    assert "at least one text" in refused(run(*words, "--default", "--private", "x"))
    assert "not a language tag" in refused(run("push", "set-texts", "TENANT", "pt_BR", "--private", "x"))
    assert "length" in refused(run(*words, "--private", "x" * 201))
    assert run(*words, "--default").exit_code == 0
    assert "pt-br" not in run("push", "show", "TENANT").stdout
