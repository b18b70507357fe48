from pathlib import Path

import pytest
from click.testing import CliRunner

from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file, no running engines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDINGS_DYNAMO_ENDPOINT", raising=False)


@pytest.mark.parametrize("command", ["plan", "apply", "check"])
def test_a_missing_endpoint_is_reported_with_what_to_do(command: str) -> None:
    error = CliRunner().invoke(tidings, ["tables", command]).exception
    assert isinstance(error, TidingsError)
    assert error.code is Code.SETTINGS_INVALID
    assert "tidings engines start" in error.hint
    assert '"aws"' in error.hint
