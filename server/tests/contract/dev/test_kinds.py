"""Ports of the processes: the configured one, or a free one that is reported."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidings.app.settings import processes
from tidings.app.settings.loader import load
from tidings.dev.supervisor import process_specs
from tidings.kernel.errors import Code, TidingsError


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_every_process_has_an_admin_port_of_its_own_and_edges_have_one_for_clients(tmp_path: Path) -> None:
    found = process_specs(load({"TIDINGS_API_PORT": "0", "TIDINGS_GATEWAY_PORT": "0"}, tmp_path))
    ports = [port for kind in found for port in (kind.admin_port, kind.port) if port]
    assert len(set(ports)) == len(ports)
    assert {"api", "gateway"} <= {kind.name for kind in found if kind.is_edge}


def test_a_configured_port_in_use_is_rejected_with_the_process_that_uses_it(
    tmp_path: Path, taken: int
) -> None:
    with pytest.raises(
        TidingsError, match=rf"Port {taken}, set as api.port, is taken by .*process \d+"
    ) as refused:
        process_specs(load({"TIDINGS_API_PORT": str(taken), "TIDINGS_GATEWAY_PORT": "0"}, tmp_path))
    assert refused.value.code is Code.ENGINE_PORT_TAKEN


def test_another_port_is_chosen_and_reported_if_the_default_is_in_use(tmp_path: Path, taken: int) -> None:
    loaded = load({"TIDINGS_API_PORT": str(taken), "TIDINGS_GATEWAY_PORT": "0"}, tmp_path)
    del loaded.sources["api", "port"]
    api = next(kind for kind in process_specs(loaded) if kind.name == "api")
    assert api.port not in (None, taken, processes.ApiSettings().port)
    assert f"port {taken} is taken" in api.note
    assert f"api is at {api.port}" in api.note
