"""The options of `tidings chat`, and its errors before the app starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidings_terminal.command import chat
from tidings_terminal.endpoint import EndpointMissing, from_dev, from_options


def written(directory: Path, token: str = "t-1") -> Path:
    path = directory / "client.json"
    path.write_text(
        json.dumps({"gateway": "ws://127.0.0.1:1/v1/socket", "users": {"anna": {"token": token}}})
    )
    return path


async def test_demo_users_and_their_new_tokens_are_read_from_the_dev_file(tmp_path: Path) -> None:
    where = from_dev("anna", written(tmp_path))
    assert (where.url, await where.token()) == ("ws://127.0.0.1:1/v1/socket", "t-1")
    written(tmp_path, "t-2")
    assert await where.token() == "t-2"
    with pytest.raises(EndpointMissing, match="no user dora"):
        from_dev("dora", tmp_path / "client.json")


async def test_a_token_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDINGS_TOKEN", raising=False)
    with pytest.raises(EndpointMissing, match="TIDINGS_TOKEN"):
        from_options("ws://x", None)
    (tmp_path / "header").write_text("Authorization: Bearer t-3\n")
    assert await from_options("ws://x", tmp_path / "header").token() == "t-3"
    monkeypatch.setenv("TIDINGS_TOKEN", "t-4")
    assert await from_options("ws://x", None).token() == "t-4"


def test_without_tidings_dev_the_command_reports_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(chat, ["--as", "anna"])
    assert done.exit_code == 1
    assert "tidings dev" in done.output
    assert "--url" in done.output


@pytest.mark.parametrize("words", [[], ["--as", "anna", "--url", "ws://x"]])
def test_exactly_one_of_as_and_url_is_required(words: list[str]) -> None:
    assert CliRunner().invoke(chat, words).exit_code == 2


def test_the_servers_command_line_lists_it_without_loading_it() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from tidings.cli import tidings\n"
        "shown = CliRunner().invoke(tidings, ['--help']).output\n"
        "print('chat ' in shown, 'tidings_terminal' in sys.modules)\n"
        "shown = CliRunner().invoke(tidings, ['chat', '--help']).output\n"
        "print('--as NAME' in shown, 'textual' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True", "False"]
