from pathlib import Path

import pytest

from tidings.app.settings import load
from tidings.app.settings.loader import rows
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret

DOCS = Path(__file__).parents[4] / "docs" / "reference"


def faults(environ: dict[str, str], directory: Path) -> str:
    with pytest.raises(TidingsError) as caught:
        load(environ, directory)
    assert caught.value.code is Code.SETTINGS_INVALID
    return caught.value.message


def test_without_any_source_the_defaults_apply(tmp_path: Path) -> None:
    loaded = load({}, tmp_path)
    assert loaded.settings.dynamo.endpoint is None
    assert loaded.sources == {}


def test_the_environment_overrides_the_file_and_the_file_overrides_running_engines(tmp_path: Path) -> None:
    (tmp_path / ".tidings").mkdir()
    (tmp_path / ".tidings/endpoints.toml").write_text(
        '[dynamo]\nendpoint = "http://127.0.0.1:1"\n[kafka]\nbootstrap_servers = "127.0.0.1:2"\n'
        '[redis]\nurl = "redis://127.0.0.1:3"\n'
    )
    (tmp_path / "tidings.toml").write_text(
        '[kafka]\nbootstrap_servers = "file:2"\n[redis]\nurl = "redis://file:3"\n'
    )
    loaded = load({"TIDINGS_REDIS_URL": "redis://env:3"}, tmp_path)
    assert loaded.settings.dynamo.endpoint == "http://127.0.0.1:1"
    assert loaded.settings.kafka.bootstrap_servers == "file:2"
    assert loaded.settings.redis.url == Secret("redis://env:3")
    assert loaded.sources["dynamo", "endpoint"] == "running engines"
    assert loaded.sources["redis", "url"] == "environment"


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text("[dynamo]\nregoin = 'x'\nregion = 3\n[kafak]\na = 1\n")
    message = faults({"TIDINGS_ENGINES_KAFKA_PORT": "70000"}, tmp_path)
    assert "dynamo.regoin: no such setting; did you mean dynamo.region?" in message
    assert "dynamo.region: expected str, got 3" in message
    assert "[kafak]: no such section; did you mean [kafka]?" in message
    assert "TIDINGS_ENGINES_KAFKA_PORT: expected int <= 65535, got '70000'" in message


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TELEMETRY_LOG_FORMAT", "text", "expected one of auto, console, json; got 'text'"),
        ("ENGINES_KAFKA_BROKERS", "2", "expected one of 1, 3; got '2'"),
        ("REDIS_IS_CLUSTER", "maybe", "expected one of true, false; got 'maybe'"),
        ("API_PORT", "abc", "expected int, got 'abc'"),
    ],
)
def test_a_wrong_value_is_reported_once_with_the_allowed_ones(
    tmp_path: Path, name: str, value: str, expected: str
) -> None:
    message = faults({f"TIDINGS_{name}": value}, tmp_path)
    assert f"TIDINGS_{name}: {expected} (in environment)" in message


def test_unknown_environment_variables_of_ours_are_refused(tmp_path: Path) -> None:
    message = faults({"TIDINGS_DYNAM_ENDPOINT": "aws"}, tmp_path)
    assert "did you mean TIDINGS_DYNAMO_ENDPOINT?" in message


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    assert "there is no file" in faults({"TIDINGS_CONFIG": str(tmp_path / "none.toml")}, tmp_path)


def test_a_file_that_is_not_toml_is_a_fault_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tidings.toml").write_text("[dynamo\n")
    assert "line 1" in faults({}, tmp_path)


def test_the_token_variable_of_clients_is_no_setting(tmp_path: Path) -> None:
    assert (
        load(environ={"TIDINGS_TOKEN": "t-4"}, directory=tmp_path).settings
        == load(environ={}, directory=tmp_path).settings
    )


def test_secrets_do_not_print_not_even_in_faults(tmp_path: Path) -> None:
    loaded = load({"TIDINGS_KAFKA_SASL_PASSWORD": "hunter2"}, tmp_path)
    assert "hunter2" not in repr(loaded)
    assert "hunter2" not in str(list(rows(loaded)))
    password = loaded.settings.kafka.sasl_password
    assert password is not None
    assert password.reveal() == "hunter2"
    (tmp_path / "tidings.toml").write_text("[kafka]\nsasl_password = 2222\n")
    assert "2222" not in faults({}, tmp_path)


def test_settings_are_frozen(tmp_path: Path) -> None:
    settings = load({}, tmp_path).settings
    with pytest.raises(AttributeError):
        settings.dynamo.region = "eu-west-1"  # type: ignore[misc]
