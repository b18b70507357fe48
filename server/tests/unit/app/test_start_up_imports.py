"""Processes and commands start quickly and stay small: they do not load packages that only some of them need."""

import subprocess
import sys

from tidings.cli import COMMANDS

PROCESSES = ("api", "delivery", "gateway", "notifications", "push", "relay")
COMMANDS_ONLY = ("botocore", "tidings.dev", "tidings.doctor")
"""botocore takes half a second and 20 MB."""
WITH_HTTP = {"archive", "push", "restore", "retention", "search", "webhook"}
"""Commands that may load aiohttp, which takes a fifth of a second: they send requests, or share a file that does."""


def test_no_process_loads_packages_of_commands() -> None:
    modules = ["tidings.cli", *(f"tidings.app.processes.{process}" for process in PROCESSES)]
    code = f"import sys, {', '.join(modules)}; print(*(m for m in {COMMANDS_ONLY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_commands_without_http_requests_do_not_load_aiohttp() -> None:
    """They run in one interpreter. A command that loads aiohttp is named alone: the check stops there."""
    code = (
        "import click, sys; from tidings.cli import tidings; context = click.Context(tidings)\n"
        "for name in sys.argv[1:]:\n"
        "    tidings.get_command(context, name)\n"
        "    if 'aiohttp' in sys.modules: sys.exit(name)"
    )
    names = sorted(COMMANDS.keys() - WITH_HTTP)
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
