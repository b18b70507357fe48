"""The short form of `just storm-gateway`."""

import pytest
from fixtures.gateway_process import GatewayProcess

from load.storm_gateway import start, wave
from tidings.gateway.admission import AdmissionOptions

CLIENTS = 500
_SLACK_S = 10.0
"""For a machine that has other things to do: the stated time is about the gateway, not about these clients."""


@pytest.mark.parametrize("library", ["picows", "websockets"])
async def test_a_storm_is_let_in_as_told_and_its_memory_is_used_again(
    house: GatewayProcess, library: str
) -> None:
    await house.found()
    options = AdmissionOptions(max_connects_per_s=200, burst=100)
    gateway = start(house, options, library)
    tokens = [house.token(f"user-{n}") for n in range(CLIENTS)]
    waves = [await wave(gateway, tokens, options) for _ in range(4)]
    for each in waves:
        assert each.refusals > 0, "nobody was ever sent away"
        assert (
            (CLIENTS - options.burst) / options.max_connects_per_s - 1
            <= each.in_s
            <= each.stated_s + _SLACK_S
        )
    # connections that stayed would be 10 KB each, in every wave
    assert min(each.left_kb for each in waves[1:]) < 2 * CLIENTS, f"connections stay behind: {waves}"
    assert gateway.faults() == []
