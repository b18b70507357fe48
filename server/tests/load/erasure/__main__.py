"""Search every stored byte for secrets of an erased user: `just erasure-search --secrets 1000`."""

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from typing import Any

from fixtures import fork_server

from load.erasure.run import run
from load.standalone import standalone_installation
from tidings.engines.model import Engine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--secrets", type=int, default=1_000)
    parser.add_argument("--mutant", default="", help="A mutant of the package `failpoints`.")
    given: Any = parser.parse_args()
    fork_server.enable()  # Nine processes that start at the same time would each import everything.
    with standalone_installation(Engine.S3) as installation:
        found = asyncio.run(run(installation, installation.fleet, count=given.secrets, mutant=given.mutant))
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
