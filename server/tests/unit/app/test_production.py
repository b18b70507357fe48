"""`installation = "production"` refuses what is for development, and reports every problem together."""

import importlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidings.app.settings import Settings, load
from tidings.app.wiring.engine_clients import make_kms
from tidings.app.wiring.options import OptionsBuilder, load_failpoints, validate_settings
from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS

PROCESSES = ("api", "delivery", "gateway", "notifications", "push", "relay")

SOUND = {
    "INSTALLATION": "production",
    "DYNAMO_ENDPOINT": "aws",
    "REDIS_URL": "rediss://cache:6379",
    "KAFKA_BOOTSTRAP_SERVERS": "b1:9094,b2:9094",
    "KAFKA_SECURITY_PROTOCOL": "ssl",
    "ENCRYPTION_KMS": "aws",
    "ENCRYPTION_KMS_KEY_ID": "alias/tidings",
    "ACCOUNTS_SMS": "none",
    "API_HOST": "0.0.0.0",
    "API_CURSOR_SECRET": "a secret that all processes have",
    "API_TRUSTED_PROXIES": "10.0.0.0/8",
    "GATEWAY_HOST": "::",
    "GATEWAY_TRUSTED_PROXIES": "10.0.0.0/8",
    "GATEWAY_MAX_CONNECTIONS": "100",
}


@dataclass
class Installation:
    """The settings of a sound production installation, with changes; `None` unsets one."""

    directory: Path
    changes: dict[str, str | None] = field(default_factory=dict)

    def settings(self, **changes: str | None) -> Settings:
        given = {**SOUND, **self.changes, **changes}
        environ = {f"TIDINGS_{name}": value for name, value in given.items() if value is not None}
        return load(environ, self.directory).settings

    def problems(self, process: str, **changes: str | None) -> str:
        """Empty: the process would start."""
        try:
            validate_settings(self.settings(**changes), builds_of(process))
        except TidingsError as error:
            return f"{error.message}\n{error.hint}"
        return ""


def builds_of(process: str) -> tuple[OptionsBuilder, ...]:
    builds: tuple[OptionsBuilder, ...] = importlib.import_module(f"tidings.app.processes.{process}").BUILDS
    return builds


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.mark.parametrize("process", PROCESSES)
def test_a_correct_installation_starts(installation: Installation, process: str) -> None:
    assert installation.problems(process) == ""


def test_all_problems_are_reported_together_and_each_says_what_to_do(installation: Installation) -> None:
    message = installation.problems(
        "api",
        ACCOUNTS_SMS=None,
        ENCRYPTION_KMS=None,
        ACCOUNTS_JWKS_NETWORK="local",
        DYNAMO_ENDPOINT="http://tables:8000",
        KAFKA_SECURITY_PROTOCOL=None,
        REDIS_URL="redis://cache:6379",
        API_CURSOR_SECRET=None,
        API_TRUSTED_PROXIES=None,
    )
    for problem, remedy in {
        "accounts.sms: `console`": "`none`",
        "encryption.kms: `file`": "`credential`",
        "accounts.jwks_network: `local`": "`public` or `private`",
        "dynamo.endpoint: http://tables:8000": "https",
        "kafka.security_protocol: `plaintext`": "`sasl_ssl`",
        "redis.url: ": "rediss://",
        "api.cursor_secret: ": "TIDINGS_API_CURSOR_SECRET",
        "api.trusted_proxies: ": "`none`",
    }.items():
        (line,) = [line for line in message.splitlines() if f"- {problem}" in line]
        assert remedy in line


@pytest.mark.parametrize(
    ("process", "changes", "named"),
    [
        ("gateway", {"GATEWAY_TRUSTED_PROXIES": None}, "gateway.trusted_proxies"),
        ("gateway", {"ACCOUNTS_JWKS_NETWORK": "local"}, "accounts.jwks_network"),
        ("delivery", {"KAFKA_SECURITY_PROTOCOL": "sasl_plaintext"}, "kafka.security_protocol"),
        ("delivery", {"KAFKA_SECURITY_PROTOCOL": "sasl_ssl"}, "kafka.sasl_password"),
        (
            "delivery",
            {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1,b1:2", "KAFKA_SECURITY_PROTOCOL": None},
            "kafka.",
        ),
        ("relay", {"ENCRYPTION_KMS": "file"}, "encryption.kms"),
        ("relay", {"ENCRYPTION_KMS_KEY_ID": None}, "encryption.kms_key_id"),
        ("notifications", {"ENCRYPTION_KMS_ENDPOINT": "http://kms.internal"}, "encryption.kms_endpoint"),
        (
            "api",
            {"ACCOUNTS_SMS": "sns", "ACCOUNTS_SMS_ENDPOINT": "http://sns.internal"},
            "accounts.sms_endpoint",
        ),
        ("api", {"ENCRYPTION_KMS": "credential"}, "encryption.credential_file"),
    ],
)
def test_each_unsafe_setting_is_refused(
    installation: Installation, process: str, changes: dict[str, str | None], named: str
) -> None:
    (problem,) = [line for line in installation.problems(process, **changes).splitlines() if "  - " in line]
    assert problem.startswith(f"  - {named}")


@pytest.mark.parametrize("process", PROCESSES)
def test_plaintext_stays_possible_on_this_machine(installation: Installation, process: str) -> None:
    assert not installation.problems(
        process,
        DYNAMO_ENDPOINT="http://127.0.0.1:8000",
        REDIS_URL="redis://[::1]:6379",
        KAFKA_BOOTSTRAP_SERVERS="localhost:9092",
        KAFKA_SECURITY_PROTOCOL=None,
        API_HOST="127.0.0.1",
        API_TRUSTED_PROXIES=None,
        GATEWAY_HOST="localhost",
        GATEWAY_TRUSTED_PROXIES=None,
    )


@pytest.mark.parametrize("process", ["api", "gateway"])
def test_an_edge_without_a_proxy_is_configured_with_none(installation: Installation, process: str) -> None:
    assert not installation.problems(process, API_TRUSTED_PROXIES="none", GATEWAY_TRUSTED_PROXIES="none")


def test_a_worker_needs_no_secret_of_the_edge(installation: Installation) -> None:
    changes = {"API_CURSOR_SECRET": None, "API_TRUSTED_PROXIES": None, "ACCOUNTS_SMS": None}
    assert not installation.problems("delivery", **changes)


def test_development_accepts_all_unsafe_settings(installation: Installation) -> None:
    for process in PROCESSES:
        assert not installation.problems(
            process,
            INSTALLATION="development",
            ACCOUNTS_SMS="console",
            ENCRYPTION_KMS="file",
            ACCOUNTS_JWKS_NETWORK="local",
            REDIS_URL="redis://cache:6379",
            KAFKA_SECURITY_PROTOCOL="plaintext",
            API_CURSOR_SECRET=None,
            API_TRUSTED_PROXIES=None,
            GATEWAY_TRUSTED_PROXIES=None,
        )


def test_unset_means_production(installation: Installation) -> None:
    message = installation.problems("api", INSTALLATION=None, ACCOUNTS_SMS=None)
    assert "accounts.sms: `console`" in message
    assert 'installation = "development"' in message


def test_engines_of_this_directory_mean_development_unless_the_tables_are_elsewhere(tmp_path: Path) -> None:
    (tmp_path / ".tidings").mkdir()
    running = 'installation = "development"\n[dynamo]\nendpoint = "http://127.0.0.1:1"\n'
    (tmp_path / ".tidings/endpoints.toml").write_text(running)
    assert load({}, tmp_path).settings.installation == "development"
    assert load({"TIDINGS_INSTALLATION": "production"}, tmp_path).settings.installation == "production"
    assert load({"TIDINGS_DYNAMO_ENDPOINT": "aws"}, tmp_path).settings.installation == "production"


def test_the_file_can_set_it_and_a_wrong_value_names_the_allowed_ones(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text('installation = "development"\n')
    assert load({}, tmp_path).settings.installation == "development"
    (tmp_path / "tidings.toml").write_text('installation = "staging"\n')
    with pytest.raises(TidingsError, match="development, production"):
        load({}, tmp_path)


@pytest.mark.parametrize("setting", ["production", None])
def test_failpoints_are_refused_in_production(tmp_path: Path, setting: str | None) -> None:
    environ = {"TIDINGS_FAILPOINTS": "failpoints", "TIDINGS_FAILPOINTS_MUTANT": "forgets_keys"}
    with pytest.raises(TidingsError, match=r"TIDINGS_FAILPOINTS: is refused in production") as refused:
        load(environ | ({"TIDINGS_INSTALLATION": setting} if setting else {}), tmp_path)
    assert refused.value.code is Code.SETTINGS_INVALID
    settings = load(environ | {"TIDINGS_INSTALLATION": "development"}, tmp_path).settings
    assert settings.failpoints == "failpoints"


@pytest.mark.parametrize("setting", ["production", None])
def test_a_process_in_production_does_not_load_failpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "harmful.py").write_text("import pathlib\npathlib.Path('loaded').touch()\n")
    for name in [name for name in os.environ if name.startswith("TIDINGS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TIDINGS_FAILPOINTS", "harmful")
    if setting:
        monkeypatch.setenv("TIDINGS_INSTALLATION", setting)
    error = CliRunner().invoke(tidings, ["run", "relay"]).exception
    assert isinstance(error, TidingsError)
    assert error.code is Code.SETTINGS_INVALID
    assert "TIDINGS_FAILPOINTS" in error.message
    assert not (tmp_path / "loaded").exists()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "No module named"),
        ("", "no attribute 'install'"),
        ("def install():\n    raise ValueError('no mutant x')\n", "no mutant x"),
    ],
)
def test_failpoints_that_cannot_be_installed_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, reason: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = f"broken_failpoints_{len(reason)}"
    if source is not None:
        (tmp_path / f"{name}.py").write_text(source)
    with pytest.raises(TidingsError, match=reason) as refused:
        load_failpoints(Settings(installation="development", failpoints=name))
    assert refused.value.code is Code.SETTINGS_INVALID


def test_failpoints_are_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "counted_failpoints.py").write_text("def install():\n    return object()\n")
    settings = Settings(installation="development", failpoints="counted_failpoints")
    assert load_failpoints(settings) is load_failpoints(settings)
    assert load_failpoints(Settings(installation="development")) is NO_FAILPOINTS


def test_no_command_creates_a_key_file_in_production(installation: Installation) -> None:
    """An operator's shell without the processes' settings must not wrap a tenant's keys with a file of its own."""
    with pytest.raises(TidingsError, match=r"encryption\.kms: `file`") as caught:
        make_kms(installation.settings(ENCRYPTION_KMS="file"))
    assert caught.value.code is Code.SETTINGS_INVALID
