"""A real `tidings run api` on real engines, in a directory of its own, told everything by its environment."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from pathlib import Path

import pytest
from contract.telemetry.running import Running
from fixtures.engines import Space
from fixtures.tables import Tables

_COMMAND = [sys.executable, "-c", "from tidings.run.cli import main; main()"]


class Api(Running):
    """The process, and its clients."""

    @property
    def api_port(self) -> int:
        port: int = self.wait_for("listening")["port"]
        return port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.api_port), timeout=20)

    def status_of(self, request: bytes) -> int:
        with self.connect() as client:
            client.sendall(request)
            return status(client)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode()


def status(client: socket.socket) -> int:
    """Of the next answer, which is read whole."""
    with HTTPResponse(client) as answer:
        answer.begin()
        answer.read()
        return answer.status


type Start = Callable[..., Api]


@pytest.fixture
def environment(tables_local: Tables, valkey: str, space: Space) -> dict[str, str]:
    """Enough settings to serve."""
    return {
        "TIDINGS_DYNAMO_ENDPOINT": tables_local.url,
        "TIDINGS_DYNAMO_TABLE_PREFIX": tables_local.prefix,
        "TIDINGS_DYNAMO_CAPACITY": "on_demand",
        "TIDINGS_REDIS_URL": valkey,
        "TIDINGS_REDIS_KEY_PREFIX": space.key_prefix,
        "TIDINGS_API_PORT": "0",
        "TIDINGS_API_CURSOR_SECRET": "a secret of the tests' own",
        "TIDINGS_PROCESS_DRAIN_S": "0.05",
        "TIDINGS_TELEMETRY_LOG_LEVEL": "info",
    }


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """`start("--processes", "2", TIDINGS_…=value)`; whatever was started ends with the test."""
    started: list[Api] = []

    def run(*words: str, **changes: str) -> Api:
        ours = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
        process = Api(
            [*_COMMAND, "run", "api", *words], cwd=tmp_path, environment=ours | environment | changes
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.close()
