"""Run the programs that a release needs."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click


class ReleaseError(click.ClickException):
    """A step of a release failed."""


def run(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output. Raises `ReleaseError` with the end of its errors.

    `env` is added to the environment of this process.
    """
    given = {**os.environ, **(env or {})}
    try:
        done = subprocess.run(words, cwd=cwd, env=given, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ReleaseError(f"{words[0]} is not installed.") from None
    if done.returncode:
        raise ReleaseError(
            f"{' '.join(words[:4])}: exit code {done.returncode}\n{(done.stdout + done.stderr)[-3_000:]}"
        )
    return done.stdout
