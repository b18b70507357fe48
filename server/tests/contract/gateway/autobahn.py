"""Run Autobahn's fuzzing client against the echo server: `just autobahn [picows|websockets] [--short]`.

It needs Autobahn's `wstest` for Python 2.7: on the path, named by WSTEST, or installed once into the cache
if there is a Python 2.7. Without Python 2.7 it prints that and succeeds.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parents[2]
MAX_MESSAGE_BYTES = 20_000_000
NOT_OFFERED = {
    "binary": ["1.2.*", "9.2.*", "9.4.*", "9.6.*", "9.8.*", "12.2.*", "12.3.*", "12.5.*"],
    "compression": ["12.*", "13.*"],
}
SHORT = ["1.1.*", "2.*", "3.*", "4.*", "5.*", "6.1.*", "6.2.*", "6.3.*", "6.4.*", "7.*", "10.*"]
FAILED = {"FAILED", "WRONG CODE", "UNCLEAN", "FAILED BY CLIENT", "UNIMPLEMENTED"}


def wstest() -> str | None:
    named = os.environ.get("WSTEST") or shutil.which("wstest")
    cached = Path.home() / ".cache" / "tidings" / "autobahn"
    if named or (cached / "bin" / "wstest").exists():
        return named or str(cached / "bin" / "wstest")
    by_pyenv = sorted(Path.home().glob(".pyenv/versions/2.7*/bin/python2.7"))
    python = str(by_pyenv[-1]) if by_pyenv else shutil.which("python2.7")
    return None if python is None else _installed(python, cached)


def _installed(python: str, into: Path) -> str | None:
    """Install `wstest` into the cache, once. It takes a minute and a half."""
    steps = [
        [python, "-m", "pip", "install", "--quiet", "virtualenv"],
        [python, "-m", "virtualenv", "--quiet", str(into)],
        [str(into / "bin" / "pip"), "install", "--quiet", "autobahntestsuite"],
    ]
    for step in steps:
        if subprocess.run(step, check=False, capture_output=True).returncode != 0:
            return None
    return str(into / "bin" / "wstest")


@contextmanager
def echo(library: str, *, compresses: bool) -> Iterator[int]:
    command = [sys.executable, "-m", "contract.gateway.echo", library]
    command += ["--max-message-bytes", str(MAX_MESSAGE_BYTES), *(["--compresses"] if compresses else [])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS)
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def run(tool: str, library: str, *, short: bool, compresses: bool) -> dict[str, dict[str, object]]:
    """Run the cases and return Autobahn's result of each."""
    left_out = [*NOT_OFFERED["binary"], *([] if compresses else NOT_OFFERED["compression"])]
    with tempfile.TemporaryDirectory() as folder, echo(library, compresses=compresses) as port:
        spec = {
            "outdir": folder,
            "servers": [{"agent": library, "url": f"ws://127.0.0.1:{port}/"}],
            "cases": SHORT if short else ["*"],
            "exclude-cases": left_out,
            "exclude-agent-cases": {},
        }
        path = Path(folder) / "spec.json"
        path.write_text(json.dumps(spec))
        subprocess.run(
            [tool, "-m", "fuzzingclient", "-s", str(path)], check=True, capture_output=True, cwd=folder
        )
        cases: dict[str, dict[str, object]] = json.loads((Path(folder) / "index.json").read_text())[library]
        return cases


def tell(library: str, cases: dict[str, dict[str, object]]) -> bool:
    """Print the results. Return whether any case ran and none failed."""
    counts = Counter(str(case["behavior"]) for case in cases.values())
    closes = Counter(str(case["behaviorClose"]) for case in cases.values())
    print(f"{library}: {len(cases)} cases; behaviour {dict(counts)}; close {dict(closes)}")
    bad = [n for n, c in cases.items() if {str(c["behavior"]), str(c["behaviorClose"])} & FAILED]
    for number in bad:
        print(f"  {number}: {cases[number]['behavior']}, close {cases[number]['behaviorClose']}")
    for number, case in cases.items():
        if case["behavior"] == "NON-STRICT":
            print(f"  {number}: not strict")
    return bool(cases) and not bad


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("library", nargs="?", choices=["picows", "websockets"])
    options.add_argument("--short", action="store_true", help="seconds: without size, speed and long UTF-8")
    options.add_argument("--compresses", action="store_true", help="websockets only: groups 12 and 13 too")
    given = options.parse_args()
    tool = wstest()
    if tool is None:
        print("not run: there is no wstest and no Python 2.7 to install it with")
        return
    names = [given.library] if given.library else ["picows", "websockets"]
    well = [tell(n, run(tool, n, short=given.short, compresses=given.compresses)) for n in names]
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
