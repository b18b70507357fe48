from pathlib import Path

import pytest

from tidings.dev.console import DevConsole

LINE = (
    '{"time":"2026-11-15T09:10:51.400Z","level":"info","event":"component started","words":"'
    + "x" * 300
    + '"}'
)
REQUEST = '{"level":"info","event":"request","status":200}'


def test_raw_lines_go_to_stdout_unchanged_and_messages_of_dev_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = DevConsole(["api"], tmp_path, is_raw=True)
    console.process_line("api", LINE)
    console.info("ready")
    console.close()
    captured = capsys.readouterr()
    assert captured.out == LINE + "\n"
    assert "ready" in captured.err


def test_lines_that_are_not_shown_are_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console = DevConsole(["api"], tmp_path, is_raw=False)
    console.requests_unshown = 1
    for line in (LINE, REQUEST, REQUEST):
        console.process_line("api", line)
    console.close()
    assert capsys.readouterr().out.count("request  status=200") == 1
    assert (tmp_path / "api.log").read_text().splitlines() == [LINE, REQUEST, REQUEST]
    assert (tmp_path / "api.log").stat().st_mode & 0o777 == 0o600  # it can hold login codes
