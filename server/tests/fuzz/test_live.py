"""The short form of `just fuzz live`."""

import psutil
import pytest
from fixtures.gateway_process import GatewayProcess
from fixtures.loops import until

from fuzz.live import Fuzz, start, taken


@pytest.mark.parametrize("library", ["picows", "websockets"])
async def test_a_running_gateway_answers_mutated_frames_or_closes_with_a_documented_code(
    env: GatewayProcess, library: str
) -> None:
    await env.create_tenant()
    gateway = start(env, library)
    fuzz = Fuzz(gateway.socket_port, env.token("anna"), seed=5)
    await fuzz.run(2_000)
    process = psutil.Process(gateway.popen.pid)
    warm_kb = process.memory_info().rss / 1_024
    await fuzz.run(4_000)
    assert taken(gateway) > 2_000
    assert fuzz.seen["request_invalid"] > 100
    assert fuzz.seen["close frame_invalid"] > 10
    assert fuzz.seen["internal"] == 0
    await until(lambda: gateway.metric("socket_open") == 0)
    assert process.memory_info().rss / 1_024 - warm_kb < 10_000
    assert gateway.faults() == []
