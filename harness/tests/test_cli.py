"""Wrong input to the commands causes an error message, without a traceback and without a folder."""

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from joserfc.jwk import OKPKey

from tidings_harness.cli import main


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.json"
    private = OKPKey.generate_key("Ed25519").as_dict(private=True)
    path.write_text(json.dumps({**private, "kid": "one"}))
    return path


@pytest.fixture
def nowhere() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def run(
    words: list[str], key: Path, report: Path, api: str = "http://127.0.0.1:1", api_key: str = "k"
) -> Result:
    place = ["--socket", "ws://127.0.0.1:1/v1/socket", "--tenant", "load-test", "--key", str(key)]
    given = [*words, "--for", "1s", "--report", str(report), "--api", api, *place]
    return CliRunner(env={"TIDINGS_API_KEY": api_key}).invoke(main, given)


KINDS = [["run", "small"], ["notifications", "run"]]


@pytest.mark.parametrize("words", KINDS)
def test_an_existing_history_is_not_overwritten(words: list[str], key: Path, tmp_path: Path) -> None:
    result = run(words, key, tmp_path)
    assert result.exit_code == 2
    assert "already exists. Choose a new folder for the history." in result.output


@pytest.mark.parametrize("words", KINDS)
def test_an_invalid_private_key_is_reported(words: list[str], tmp_path: Path) -> None:
    for text in ("{}", "[]", "no json", '{"kty": "OKP", "kid": "one"}'):
        wrong = tmp_path / "wrong.json"
        wrong.write_text(text)
        result = run(words, wrong, tmp_path / "out")
        assert result.exit_code == 2, text
        assert "as printed by `tidings tenant key new`" in result.output


def test_an_unreachable_api_is_reported_and_leaves_no_folder(key: Path, tmp_path: Path, nowhere: str) -> None:
    result = run(["run", "small"], key, tmp_path / "out", nowhere)
    assert result.exit_code == 2
    assert "The installation could not be tested: http://127.0.0.1:" in result.output
    assert not (tmp_path / "out").exists()


def test_a_missing_api_key_is_reported_with_its_environment_variable(key: Path, tmp_path: Path) -> None:
    result = run(["notifications", "run"], key, tmp_path / "out", api_key="")
    assert result.exit_code == 2
    assert "TIDINGS_API_KEY" in result.output


def test_a_duration_needs_a_unit(tmp_path: Path) -> None:
    words = ["notifications", "run", "--for", "60", "--report", str(tmp_path / "out")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "'60' is not a duration" in result.output
