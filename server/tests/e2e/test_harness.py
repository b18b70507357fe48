"""`tidings-harness run` as an operator uses it, against a correct installation."""

import json
import subprocess
import sys
from pathlib import Path

from fixtures.installation_processes import InstallationProcesses

_COMMAND = [sys.executable, "-c", "from tidings_harness.cli import main; main()"]


def test_a_run_against_a_correct_installation_finds_no_violation(
    installation: InstallationProcesses, tmp_path: Path
) -> None:
    one, two, _, _, api = installation.ready(
        "gateway", "gateway", "delivery", "relay", "api", FAILPOINTS_PAUSE_AT=""
    )
    key, report = tmp_path / "key.json", tmp_path / "report"
    key.write_text(json.dumps(installation.private))
    addresses = [f"--socket=ws://127.0.0.1:{each.socket_port}/v1/socket" for each in (one, two)]
    rest = f"--api=http://127.0.0.1:{api.wait_for('listening')['port']}"
    words = [
        "run",
        "small",
        "--for=6s",
        f"--report={report}",
        f"--tenant={installation.space.tenant}",
        f"--key={key}",
    ]
    done = subprocess.run(
        [*_COMMAND, *words, rest, *addresses], check=False, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads((report / "verdict.json").read_text())
    assert verdict["is_good"]
    assert verdict["deliveries"] > verdict["acked"] > 0
    again = subprocess.run(
        [*_COMMAND, "check", str(report)], check=False, capture_output=True, text=True, timeout=60
    )
    assert again.returncode == 0
    assert "No guarantee was violated." in again.stdout
