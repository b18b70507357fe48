"""Processes and commands start quickly and stay small: they do not load packages that only some of them need."""

import subprocess
import sys

import pytest

from tidings.cli import COMMANDS

PROCESSES = ("api", "delivery", "gateway", "notifications", "push", "relay")
COMMANDS_ONLY = ("botocore", "tidings.dev", "tidings.doctor")
"""botocore takes half a second and 20 MB."""
MAY_LOAD = {
    "aiohttp": {"archive", "push", "restore", "retention", "search", "webhook"},
    "joserfc": {
        *("archive", "broadcast", "drill", "inbox", "job", "restore", "retention", "search"),
        *("segment", "tenant", "token", "user", "webhook"),
    },
}
"""Commands that may load a package: they use it, or share a file with one that does.

aiohttp takes a fifth of a second of CPU, joserfc a tenth.
"""


def test_no_process_loads_packages_of_commands() -> None:
    modules = ["tidings.cli", *(f"tidings.app.processes.{process}" for process in PROCESSES)]
    code = f"import sys, {', '.join(modules)}; print(*(m for m in {COMMANDS_ONLY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("package", MAY_LOAD)
def test_commands_do_not_load_a_package_that_they_do_not_use(package: str) -> None:
    """All run in one interpreter, which ends at the first command that loads the package and prints its name."""
    code = (
        "import click, sys; from tidings.cli import tidings; context = click.Context(tidings)\n"
        "for name in sys.argv[2:]:\n"
        "    tidings.get_command(context, name)\n"
        "    if sys.argv[1] in sys.modules: sys.exit(name)"
    )
    names = sorted(COMMANDS.keys() - MAY_LOAD[package])
    done = subprocess.run(
        [sys.executable, "-c", code, package, *names], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
