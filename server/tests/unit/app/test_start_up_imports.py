"""Processes start quickly and stay small: they do not load packages that only some commands need."""

import subprocess
import sys

PROCESSES = ("api", "delivery", "gateway", "notifications", "push", "relay")
COMMANDS_ONLY = ("botocore", "tidings.dev", "tidings.doctor")
"""botocore takes half a second and 20 MB."""


def test_no_process_loads_packages_of_commands() -> None:
    modules = ["tidings.cli", *(f"tidings.app.processes.{process}" for process in PROCESSES)]
    code = f"import sys, {', '.join(modules)}; print(*(m for m in {COMMANDS_ONLY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
