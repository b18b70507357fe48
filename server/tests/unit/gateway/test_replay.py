"""Recorded pushes are sent before a device is live; a disconnected device does not block the replay."""

from types import SimpleNamespace
from typing import Any

from tidings.gateway.connected_device import ChatPosition, ConnectedDevice
from tidings.gateway.resume.resume import ResumeService
from tidings.kernel.failpoints import NO_FAILPOINTS
from tidings.kernel.ids import ChatId, DeviceId, DeviceKey, TenantId, UserId

CHAT = ChatId("g")


class Ranges:
    """Like the real ranges, read nothing for a device that has left."""

    def __init__(self) -> None:
        self.asked = 0

    async def catch_up(self, device: ConnectedDevice, chat: ChatId, place: ChatPosition) -> None:
        del chat
        self.asked += 1
        assert self.asked < 10, "it goes round"
        if not device.is_gone:
            place.position = place.ahead


def behind(ranges: Ranges) -> tuple[ResumeService, ConnectedDevice]:
    resuming: Any = object.__new__(ResumeService)
    resuming._parts, resuming._failpoints = SimpleNamespace(ranges=ranges), NO_FAILPOINTS
    connected: Any = SimpleNamespace()
    device = ConnectedDevice(DeviceKey(TenantId("acme"), UserId("ben"), DeviceId("phone")), connected)
    device.positions[CHAT] = ChatPosition(1)
    device.positions[CHAT].on_push(5)
    return resuming, device


async def test_recorded_pushes_are_read_before_the_device_is_live() -> None:
    resuming, device = behind(Ranges())
    await resuming._replay(device)
    assert device.is_live
    assert device.positions[CHAT].position == 5


async def test_a_device_that_left_while_it_resumed_is_not_waited_for() -> None:
    resuming, device = behind(Ranges())
    device.is_gone = True
    await resuming._replay(device)
    assert not device.is_live
