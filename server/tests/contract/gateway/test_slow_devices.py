"""A device that reads slowly, or whose reads fail, does not keep other devices from resuming."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from contract.gateway.test_order import small
from fixtures.gateway_env import WITHIN_S, GatewayEnv, InProcessGateway, ScreenDevice
from fixtures.loops import until
from fixtures.use_cases import ANNA, BEN

from tidings.gateway import slow_consumer
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings_wire.close_codes import CloseCode

STUCK = 10**6
ONE_READS = ResumeOptions(at_once=1, max_concurrent_resumes=1)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit, so that a stuck device is not closed during a test, unless the test lowers it."""
    monkeypatch.setattr(slow_consumer, "GRACE_S", 60.0)


def stuck(here: InProcessGateway, user: UserId, device: str = "phone") -> ScreenDevice:
    """Connect a device that requests all entries and reads none."""
    screen = here.open(user, device, epoch=0, positions={})
    screen.buffered_bytes = STUCK
    return screen


async def waits(
    screen: ScreenDevice, here: InProcessGateway, user: UserId, name: str = "phone"
) -> ConnectedDevice:
    """Wait until the gateway waits for the device."""
    await until(lambda: here.hub_has(user, name), WITHIN_S)
    device = here.device(user, name)
    await until(lambda: device.slow_consumer_guard is not None and not screen.is_resumed, WITHIN_S)
    return device


async def test_a_device_that_does_not_read_does_not_block_first_resumes_of_others(
    gateways: GatewayEnv,
) -> None:
    await small(gateways)
    here = await gateways.gateway(resume=ONE_READS)
    slow = stuck(here, BEN)
    await waits(slow, here, BEN)
    await here.live(ANNA)
    assert slow.closed is None
    slow.buffered_bytes = 0
    await until(lambda: slow.is_resumed, WITHIN_S)


async def test_a_device_that_does_not_read_does_not_block_later_resumes_of_others(
    gateways: GatewayEnv,
) -> None:
    chat = await small(gateways)
    here = await gateways.gateway(resume=ONE_READS)
    slow, quick = await here.live(BEN), await here.live(ANNA, epoch=0, positions={chat.chat: 100})
    devices = [here.device(BEN), here.device(ANNA)]
    slow.buffered_bytes = STUCK
    devices[0].positions.clear()
    resumed = here.node.counts.resume_retries
    for device in devices:
        here.node.resuming.resume_again(device)
    await until(lambda: here.node.counts.resume_retries == resumed + 1, WITHIN_S)
    assert (devices[0].is_live, devices[1].is_live) == (False, True)
    assert (slow.closed, quick.closed) == (None, None)


async def test_failing_reads_of_one_device_do_not_block_later_resumes_of_others(gateways: GatewayEnv) -> None:
    await small(gateways)
    here = await gateways.gateway(resume=ONE_READS)
    await here.live(BEN)
    await here.live(ANNA)
    resuming, order = here.node.resuming, list[UserId]()
    resuming._rows = throttled(resuming._rows, BEN, order)  # type: ignore[method-assign,assignment]
    resuming.resume_again(here.device(BEN))
    await until(lambda: order == [BEN], WITHIN_S)
    resuming.resume_again(here.device(ANNA))
    await until(lambda: ANNA in order, WITHIN_S)
    assert order.count(BEN) < 4, "the device whose reads fail was tried to the end first"


def throttled(
    honest: Callable[[ConnectedDevice], Awaitable[Any]], user: UserId, order: list[UserId]
) -> Callable[[ConnectedDevice], Awaitable[Any]]:
    async def rows(device: ConnectedDevice) -> Any:
        order.append(device.user)
        if device.user == user:
            raise TidingsError(Code.OVERLOADED, "throttled")
        return await honest(device)

    return rows


async def test_a_user_resumes_two_devices_at_a_time_without_blocking_other_users(
    gateways: GatewayEnv,
) -> None:
    await small(gateways)
    here = await gateways.gateway(resume=ResumeOptions(per_user=2))
    slow = [stuck(here, BEN, f"phone-{n}") for n in range(3)]
    devices = [await waits(slow[n], here, BEN, f"phone-{n}") for n in range(2)]
    await here.live(ANNA)
    third = here.device(BEN, "phone-2")
    assert third.slow_consumer_guard is None, "the third device of the user was begun"
    slow[0].buffered_bytes = slow[2].buffered_bytes = 0
    await until(lambda: slow[2].is_resumed, WITHIN_S)
    assert not devices[1].is_live


async def test_the_resume_of_a_live_device_has_a_deadline_too(gateways: GatewayEnv) -> None:
    chat = await small(gateways)
    here = await gateways.gateway(resume=ResumeOptions(within_s=1.0))
    ben = await here.live(BEN)
    ben.buffered_bytes = STUCK
    ben.say(id=9, resume={"positions": {chat.chat: 0}, "epoch": 0})
    await until(lambda: (ben.closed or (0,))[0] == CloseCode.TRY_AGAIN_LATER, WITHIN_S)


async def test_a_device_that_reads_a_few_bytes_at_a_time_is_closed_as_slow(
    gateways: GatewayEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_consumer, "GRACE_S", 0.3)

    class Trickle(ScreenDevice):
        @property
        def buffered_bytes(self) -> int:
            self._left -= 10
            return self._left

        @buffered_bytes.setter
        def buffered_bytes(self, size: int) -> None:
            self._left = size

    await small(gateways)
    here = await gateways.gateway()
    monkeypatch.setattr("fixtures.gateway_env.ScreenDevice", Trickle)
    ben = stuck(here, BEN)
    await until(lambda: (ben.closed or (0,))[0] == CloseCode.SLOW_CONSUMER, WITHIN_S)
