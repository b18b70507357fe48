"""Run every test of the transport on both libraries."""

from typing import cast

import pytest

from tidings.gateway.transport.websockets_transport import BackendName


@pytest.fixture(params=["picows", "websockets"])
def name(request: pytest.FixtureRequest) -> BackendName:
    return cast("BackendName", request.param)
