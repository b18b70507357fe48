"""The smaller parts of `tidings dev`: files, code changes and refusals."""

import stat
from pathlib import Path

import pytest

from tidings.app.processes.command import group
from tidings.app.settings.loader import LoadedSettings, load
from tidings.dev import process_runner
from tidings.dev.engines import require_local
from tidings.dev.state_dir import StateDir, read_json, write_private
from tidings.dev.supervisor import ProcessSpec, process_settings
from tidings.kernel.errors import Code, TidingsError


def loaded(tmp_path: Path, **environment: str) -> LoadedSettings:
    return load({f"TIDINGS_{name}": value for name, value in environment.items()}, tmp_path)


def test_private_files_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.touch(0o644)
    write_private(path, '{"a": 1}')
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_json(path) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_file_without_an_object_is_treated_as_missing(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    assert read_json(tmp_path / "keys.json") == {}


def test_leave_deletes_tokens_and_delete_removes_keys(tmp_path: Path) -> None:
    place = StateDir(tmp_path)
    with place.held():
        for path in (place.client, place.keys, place.header("anna")):
            write_private(path, "{}")
        place.leave()
        assert [path.exists() for path in (place.client, place.header("anna"), place.keys)] == [
            False,
            False,
            True,
        ]
        place.delete()
        assert not place.keys.exists()


def test_a_directory_is_locked_once_and_then_free_again(tmp_path: Path) -> None:
    place = StateDir(tmp_path)
    with place.held(), pytest.raises(TidingsError) as taken, place.held():
        pass
    assert taken.value.code is Code.ENGINES_BUSY
    with place.held():
        pass


def test_code_that_does_not_compile_is_reported(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("a = 1\n")
    bad.write_text("def a(:\n")
    assert process_runner.syntax_error_in([good, tmp_path / "gone.py", tmp_path / "script.lua"]) == ""
    assert "bad.py" in process_runner.syntax_error_in([good, bad])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"DYNAMO_ENDPOINT": "aws"}, "dynamo.endpoint"),
        ({"DYNAMO_ENDPOINT": "https://dynamodb.eu-central-1.amazonaws.com"}, "dynamo.endpoint"),
        ({"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092,b-1.example:9092"}, "kafka.bootstrap_servers"),
        ({"REDIS_URL": "rediss://a:b@cache.example:6379"}, "redis.url"),
    ],
)
def test_engines_on_other_machines_are_not_used(tmp_path: Path, given: dict[str, str], named: str) -> None:
    with pytest.raises(TidingsError, match=named):
        require_local(loaded(tmp_path, **given))


def test_engines_in_containers_on_this_machine_are_used(tmp_path: Path) -> None:
    given = {
        "DYNAMO_ENDPOINT": "http://localhost:8000",
        "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092",
        "REDIS_URL": "redis://127.0.0.1:6379",
    }
    require_local(loaded(tmp_path, **given))


def test_explicit_settings_stay_and_the_others_are_relaxed(tmp_path: Path) -> None:
    kind = ProcessSpec("gateway", admin_port=7001, port=7002)
    given = process_settings(kind, loaded(tmp_path, PROCESS_DRAIN_S="3"), "secret")
    assert "TIDINGS_PROCESS_DRAIN_S" not in given
    assert given["TIDINGS_GATEWAY_PORT"] == "7002"
    assert given["TIDINGS_PROCESS_ADMIN_PORT"] == "7001"
    assert given["TIDINGS_API_CURSOR_SECRET"] == "secret"


def test_the_relaxed_settings_are_valid_for_every_process(tmp_path: Path) -> None:
    from tidings.app.processes.gateway import make_listen_options  # noqa: PLC0415 - slow to import
    from tidings.app.wiring.listener_options import make_drain_options  # noqa: PLC0415 - slow to import

    given = process_settings(ProcessSpec("gateway", 1, 2), loaded(tmp_path), "x" * 32)
    settings = load(given, tmp_path).settings
    make_drain_options(settings)
    make_listen_options(settings)
    files = settings.gateway.max_connections + settings.gateway.max_handshakes + 500
    assert files <= 1024


def test_there_are_processes_to_run() -> None:
    assert {"api", "gateway"} <= set(group.commands)
