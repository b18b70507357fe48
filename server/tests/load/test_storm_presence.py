"""The short form of `just storm-presence`."""

import pytest
from fixtures.gateway_process import GatewayProcess

from load.storm_presence import Plan, storm


@pytest.mark.long
@pytest.mark.deadline(240.0)
async def test_a_killed_gateway_causes_no_storm_of_presence_events(env: GatewayProcess) -> None:
    await env.create_tenant()
    plan = Plan(devices=88, stay_away=6, lease_s=6.0, renew_every_s=2.0, hold_s=20.0)
    seen = await storm(env, plan, 120.0)
    print(seen)
    assert seen.returned == 38
    assert seen.of_returned == 0, "an event about a user who reconnected in time"
    assert seen.of_gone == seen.pairs
    assert seen.most_of_gone_to_one == 1
    assert env.started[0].faults() == []
