"""`tidings-harness load` as an operator uses it: a short ramp against real processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.installation_processes import InstallationProcesses
from hdrh.histogram import HdrHistogram

_COMMAND = [sys.executable, "-c", "from tidings_harness.cli import main; main()", "load"]


@pytest.mark.long
def test_a_ramp_measures_until_the_limit_breaks(installation: InstallationProcesses, tmp_path: Path) -> None:
    one, two, _, api = installation.ready("gateway", "gateway", "delivery", "api", FAILPOINTS_PAUSE_AT="")
    key = tmp_path / "key.json"
    key.write_text(json.dumps(installation.private))
    words = [
        f"--api=http://127.0.0.1:{api.wait_for('listening')['port']}",
        *(f"--socket=ws://127.0.0.1:{each.socket_port}/v1/socket" for each in (one, two)),
        f"--tenant={installation.space.tenant}",
        f"--key={key}",
        "--pairs=6",
        "--first-rate=10",
        "--step=2s",
        "--for=20s",
    ]
    # A limit that a busy machine keeps as well: the ramp ends at its highest rate.
    kept = _load(*words, "--limit-ms=20000", "--max-rate=20", f"--report={tmp_path / 'kept'}")
    assert kept.returncode == 0, kept.stderr
    line = json.loads(kept.stdout)
    assert line["max_rate"] == 20
    assert line["ended_by"] == "the highest rate was reached"
    assert line["sent"] == line["acked"] == line["delivered"] == 40
    assert (line["doubled"], line["errors"]) == (0, {})
    assert 0 < line["loader_cpu"] < 1
    assert 0 < line["acked_ms"]["p50"] <= line["acked_ms"]["p99"]
    assert 0 < line["delivered_ms"]["p50"] <= line["delivered_ms"]["p99"]
    verdict = json.loads((tmp_path / "kept" / "verdict.json").read_text())
    assert [step["rate"] for step in verdict["steps"]] == [10, 15, 20]
    assert HdrHistogram.decode(verdict["at_max_rate"]["delivered_hdr"]).get_total_count() == 40
    assert "20 messages a second within 20000 ms" in (tmp_path / "kept" / "verdict.html").read_text()
    # No message arrives within a millisecond: it passes through three processes and three engines.
    broken = _load(*words, "--limit-ms=1", f"--report={tmp_path / 'broken'}")
    assert broken.returncode == 1, broken.stderr
    line = json.loads(broken.stdout)
    assert (line["max_rate"], line["ended_by"], line["steps"]) == (None, "the limit was broken", 1)


def _load(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_COMMAND, *words], check=False, capture_output=True, text=True, timeout=120)
