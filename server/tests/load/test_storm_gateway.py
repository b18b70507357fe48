"""The short form of `just storm-gateway`."""

import pytest
from fixtures.gateway_process import GatewayProcess

from load.storm_gateway import start, wave
from tidings.gateway.admission import AdmissionOptions

CLIENTS = 500
_SLACK_S = 30.0
"""For a busy machine: the calculated time is that of the gateway, not of these clients."""


@pytest.mark.parametrize("library", ["picows", pytest.param("websockets", marks=pytest.mark.long)])
async def test_a_storm_connects_within_the_calculated_time_and_reuses_memory(
    env: GatewayProcess, library: str
) -> None:
    await env.create_tenant()
    options = AdmissionOptions(max_connects_per_s=200, burst=100)
    gateway = start(env, options, library)
    tokens = [env.token(f"user-{n}") for n in range(CLIENTS)]
    waves = [await wave(gateway, tokens, options) for _ in range(4)]
    for each in waves:
        assert each.refusals > 0, "no connection was refused"
        assert (
            (CLIENTS - options.burst) / options.max_connects_per_s - 1
            <= each.in_s
            <= each.stated_s + _SLACK_S
        )
    # Leaked connections would use 10 KB each, in every wave.
    assert min(each.left_kb for each in waves[1:]) < 2 * CLIENTS, f"connections leaked: {waves}"
    assert gateway.faults() == []
