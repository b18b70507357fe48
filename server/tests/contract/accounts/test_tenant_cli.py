"""`tidings tenant` and `tidings token` on a real table, as an operator would use them."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from secrets import token_bytes

import pytest
from click.testing import CliRunner, Result
from faults.clients import dynamodb
from fixtures.engines import Namespace
from fixtures.memory_accounts import claims_of, mint, pair
from fixtures.tables import REGION, Tables

from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError
from tidings.schema.tables.declaration import TENANTS

type Run = Callable[..., Result]


@pytest.fixture
def run(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables.prefix)

    def invoke(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(tidings, words, input=stdin)

    return invoke


@pytest.fixture
def tenant(run: Run, space: Namespace) -> str:
    assert run("tenant", "create", space.tenant).exit_code == 0
    return space.tenant


def error_of(result: Result) -> TidingsError:
    assert isinstance(result.exception, TidingsError)
    return result.exception


def test_a_content_key_is_rotated_for_a_tenant_that_exists(run: Run, tenant: str) -> None:
    versions = [run("tenant", "rotate-content-key", tenant).stdout.split()[3] for _ in range(2)]
    assert versions == ["2", "3"], "the first one is made by whoever comes first"
    assert error_of(run("tenant", "rotate-content-key", "nobody")).code is Code.REQUEST_INVALID


@pytest.mark.parametrize("kms", ["file", "credential"])
def test_keys_are_rewrapped_so_that_the_former_master_key_can_be_removed(
    run: Run, space: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kms: str
) -> None:
    setting = {"file": "KEY_FILE", "credential": "CREDENTIAL_FILE"}[kms]
    old, new = (master_key(tmp_path / f"{name}.key") for name in ("old", "new"))
    monkeypatch.setenv("TIDINGS_ENCRYPTION_KMS", kms)
    monkeypatch.setenv(f"TIDINGS_ENCRYPTION_{setting}", str(old))
    assert run("tenant", "create", space.tenant).exit_code == 0
    monkeypatch.setenv(f"TIDINGS_ENCRYPTION_{setting}", str(new))
    assert error_of(run("tenant", "show", space.tenant)).code is Code.KEYS_UNAVAILABLE

    monkeypatch.setenv("TIDINGS_ENCRYPTION_FORMER_KEY_FILE", str(old))
    counts = [run("tenant", "rewrap-keys", space.tenant).stdout for _ in range(2)]
    assert [output.split(" were ")[0] for output in counts] == ["2 keys rewrapped, 0", "0 keys rewrapped, 2"]
    everything = run("tenant", "rewrap-keys")
    assert int(everything.stdout.split()[3]) >= 2, "without a name it walks through all tenants"

    old.unlink()
    monkeypatch.delenv("TIDINGS_ENCRYPTION_FORMER_KEY_FILE")
    assert run("tenant", "show", space.tenant).exit_code == 0
    assert run("tenant", "rotate-content-key", space.tenant).stdout.startswith("ok: content key 2")


def test_the_key_of_certificates_is_rewrapped_with_those_of_the_installation(
    run: Run, tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_installation_keys(tables)
    old, new = (master_key(tmp_path / f"{name}.key") for name in ("old", "new"))
    monkeypatch.setenv("TIDINGS_ENCRYPTION_KEY_FILE", str(old))
    public = run("certificate", "key").stdout
    assert json.loads(public)["kty"] == "OKP"
    monkeypatch.setenv("TIDINGS_ENCRYPTION_KEY_FILE", str(new))
    assert error_of(run("certificate", "key")).code is Code.KEYS_UNAVAILABLE
    monkeypatch.setenv("TIDINGS_ENCRYPTION_FORMER_KEY_FILE", str(old))
    # Tenants of other tests have other master keys, so the command reports their keys.
    run("tenant", "rewrap-keys")
    old.unlink()
    monkeypatch.delenv("TIDINGS_ENCRYPTION_FORMER_KEY_FILE")
    assert run("certificate", "key").stdout == public
    forget_installation_keys(tables)


def forget_installation_keys(tables: Tables) -> None:
    """Delete the keys of the installation: another test may have wrapped them with its own master key."""
    raw, name = dynamodb(tables.url), tables.prefix + TENANTS.name
    for item in raw.scan(TableName=name, ConsistentRead=True)["Items"]:
        if item["tenant"]["S"] == "_system" and item["item"]["S"].startswith("data_key#"):
            raw.delete_item(TableName=name, Key={"tenant": item["tenant"], "item": item["item"]})


def master_key(path: Path) -> Path:
    path.write_text(b64encode(token_bytes(32)).decode())
    path.chmod(0o600)
    return path


def test_an_access_key_is_rotated_and_tenants_are_listed(run: Run, tenant: str) -> None:
    assert run("tenant", "rotate-access-key", tenant).stdout.startswith("ok: access key 1 signs within")
    assert run("tenant", "rotate-access-key", tenant).stdout.startswith("ok: access key 2 signs within")
    assert error_of(run("tenant", "rotate-access-key", "nobody")).code is Code.REQUEST_INVALID
    assert tenant in run("tenant", "list").stdout.splitlines()


def test_a_new_key_of_a_tenant_signs_tokens_until_it_is_retired(run: Run, tenant: str) -> None:
    made = run("tenant", "key", "new", tenant)
    private = json.loads(made.stdout)
    assert "once" in made.stderr
    assert private["d"] not in made.stderr
    Path("key.json").write_text(made.stdout)
    minted = run("token", "mint", "--tenant", tenant, "--user", "anna", "--key", "key.json", "--for", "15m")
    token = minted.stdout.strip()
    checked = run("token", "check", token)
    assert f"ok: tenant {tenant}\nuser anna" in checked.stdout
    assert run("token", "check", "-", stdin=token + "\n").stdout == checked.stdout
    assert private["kid"] in run("tenant", "key", "list", tenant).stdout
    assert private["d"] not in run("tenant", "key", "list", tenant).stdout
    run("tenant", "key", "retire", tenant, private["kid"])
    refused = error_of(run("token", "check", token))
    assert (refused.code, "retired" in refused.message) == (Code.CREDENTIAL_INVALID, True)


def test_an_api_key_is_issued_shown_once_rotated_and_revoked(run: Run, tenant: str) -> None:
    issued = run(
        "tenant",
        "api-key",
        "new",
        tenant,
        "--name",
        "backend",
        "--scope",
        "users",
        "--scope",
        "notifications",
    )
    text = issued.stdout.strip()
    key_id, secret = text.split(".")[2:]
    assert "once" in issued.stderr
    assert secret not in issued.stderr
    assert "notifications, users" in run("token", "check", text).stdout
    rotated = run("tenant", "api-key", "rotate", tenant, key_id).stdout.strip()
    assert "ok" in run("token", "check", rotated).stdout
    assert "within 10 s" in run("tenant", "api-key", "revoke", tenant, key_id).stdout
    assert "revoked" in error_of(run("token", "check", text)).message
    listed = run("tenant", "api-key", "list", tenant).stdout
    assert key_id in listed
    assert secret not in listed


def test_an_api_key_is_issued_with_an_expiry_that_the_list_shows(
    run: Run, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    new = ("tenant", "api-key", "new", tenant, "--name", "ci", "--scope", "users")
    key_id = run(*new, "--expires", "90d").stdout.split(".")[2]
    shown = run("tenant", "api-key", "list", tenant).stdout
    assert "expires" in shown
    assert "last used" in shown
    line = next(line for line in shown.splitlines() if key_id in line)
    issued, expires = (datetime.fromisoformat(time) for time in re.findall(r"\d{4}-\S+Z", line))
    assert expires - issued == timedelta(days=90)
    assert run(*new, "--expires", "0d").exit_code == 2


def test_the_exact_reason_is_reported_to_an_operator(run: Run, tenant: str) -> None:
    key = pair("their-own")
    Path("key.json").write_text(json.dumps(key))
    assert run("tenant", "key", "add", tenant, "key.json").exit_code == 0
    for claims, code, reason in (
        ({"exp": 1000, "iat": 900}, Code.CREDENTIAL_EXPIRED, "it expired"),
        ({"aud": "other"}, Code.CREDENTIAL_INVALID, "`aud`"),
        ({"sub": "a#b"}, Code.CREDENTIAL_INVALID, "`sub`"),
        ({"tenant": "nobody-here"}, Code.CREDENTIAL_INVALID, "does not exist"),
    ):
        token = mint(key, claims_of(**({"tenant": tenant} | claims)))
        error = error_of(run("token", "check", token))
        assert error.code is code
        assert reason in error.message


def test_settings_are_changed_one_by_one(run: Run, tenant: str) -> None:
    url = "https://id.example/keys"
    run("tenant", "set", tenant, "--name", "Acme", "--jwks-url", url, "--rate", "user=0.5/7", "--phone-login")
    prefixed = run(
        "tenant", "set", tenant, "--phone-prefix", "+49", "--phone-prefix", "+43", "--rate", "code=90/h/9"
    )
    prefixed_shown = re.sub(r" +", " ", prefixed.stdout)
    assert "phone prefixes +43, +49" in prefixed_shown
    assert "rate per code 0.025/s, 9 at once" in prefixed_shown
    assert error_of(run("tenant", "set", tenant, "--phone-prefix", "0049")).code is Code.REQUEST_INVALID
    shown = run("tenant", "set", tenant, "--skew-s", "5", "--audience", "a", "--audience", "b").stdout
    shown = re.sub(r" +", " ", shown)
    for line in ("name Acme", f"JWKS URL {url}", "clock skew 5 s", "phone login on", "audiences a, b"):
        assert line in shown
    assert "rate per user 0.5/s, 7 at once" in shown
    back = run(
        "tenant",
        "set",
        tenant,
        "--jwks-url",
        "none",
        "--rate",
        "user=default",
        "--no-phone-login",
        "--phone-prefix",
        "none",
    ).stdout
    back = re.sub(r" +", " ", back)
    assert "JWKS URL -" in back
    assert "rate per user installation default" in back
    assert "version 5" in back
    assert "phone prefixes none" in back


def test_a_command_that_changes_something_logs_its_operator(
    run: Run, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "olga")
    made = run("tenant", "api-key", "new", tenant, "--name", "backend", "--scope", "users")
    events = [json.loads(line) for line in made.stderr.splitlines() if line.startswith("{")]
    assert [event["event"] for event in events] == ["admin_command", "api_key_issued"]
    assert {event["operator"] for event in events} == {"olga"}
    assert events[0]["subject"] == "tenant api-key new"
    assert (events[1]["tenant"], events[1]["reason"]) == (tenant, "backend")
    assert made.stdout.strip().split(".")[3] not in made.stderr
    changed = run("tenant", "set", tenant, "--name", "New")
    assert '"event":"tenant_changed"' in changed.stderr
    assert "{" not in run("tenant", "show", tenant).stderr


def test_a_container_s_user_without_a_name_is_logged_by_its_number(
    run: Run, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_name() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", no_name)
    changed = run("tenant", "set", tenant, "--name", "New")
    assert f'"operator":"uid-{os.getuid()}"' in changed.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("tenant", "create", "TENANT"),
        ("tenant", "create", "Not An Id"),
        ("tenant", "show", "nobody"),
        ("tenant", "key", "new", "nobody"),
        ("tenant", "api-key", "new", "nobody", "--name", "x", "--scope", "users"),
        ("tenant", "set", "TENANT", "--skew-s", "301"),
        ("tenant", "set", "TENANT", "--jwks-url", "http://127.0.0.1/keys"),
        ("tenant", "set", "TENANT", "--rate", "user"),
        ("tenant", "set", "TENANT", "--rate", "nobody=1/1"),
        ("tenant", "set", "TENANT", "--rate", "user=0/1"),
        ("tenant", "set", "TENANT", "--rate", "user=nan/1"),
        ("tenant", "key", "retire", "TENANT", "nothing"),
        ("tenant", "api-key", "revoke", "TENANT", "nothing"),
        ("tenant", "api-key", "revoke", "TENANT", "a#b"),
    ],
    ids=" ".join,
)
def test_an_operator_error_has_a_plain_message(run: Run, tenant: str, words: tuple[str, ...]) -> None:
    given = [tenant if word == "TENANT" else word for word in words]
    assert error_of(run(*given)).code is Code.REQUEST_INVALID


@pytest.mark.parametrize("content", ["", "[]", '{"kty": "RSA"}', "PUBLIC"])
def test_a_key_that_can_not_sign_is_refused(run: Run, content: str) -> None:
    key = {name: value for name, value in pair("k").items() if name != "d"}
    Path("key.json").write_text(json.dumps(key) if content == "PUBLIC" else content)
    result = run("token", "mint", "--tenant", "acme", "--user", "anna", "--key", "key.json")
    assert error_of(result).code is Code.REQUEST_INVALID


def test_a_tenant_is_deleted_after_its_id_was_typed(run: Run, tenant: str) -> None:
    assert run("tenant", "delete", tenant, stdin="another\n").exit_code == 2
    assert error_of(run("tenant", "deletion", tenant)).code is Code.JOB_NOT_FOUND
    assert run("tenant", "delete", tenant, stdin=f"{tenant}\n").exit_code == 0
    shown = json.loads(run("tenant", "deletion", tenant, "--json").stdout)
    assert (shown["tenant"], shown["step"], shown["certificate"]) == (tenant, "fence", "")
    again = json.loads(run("tenant", "delete", tenant, "--yes", "--json").stdout)
    assert again["deletion"] == shown["deletion"]
    assert error_of(run("tenant", "delete", "nobody", "--yes")).code is Code.REQUEST_INVALID


def test_a_tenant_is_exported_once_to_a_directory(run: Run, tenant: str) -> None:
    done = run("tenant", "export", tenant, "copy")
    assert done.exit_code == 0, done.output
    assert "0 chats, 0 messages, 0 files" in done.stdout
    assert run("import", "check", "copy/users.jsonl", "copy/chats.jsonl").exit_code == 0
    assert error_of(run("tenant", "export", tenant, "copy")).code is Code.REQUEST_INVALID
    assert error_of(run("tenant", "export", "nobody", "other")).code is Code.REQUEST_INVALID
