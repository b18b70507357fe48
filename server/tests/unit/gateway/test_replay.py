"""Recorded pushes are sent before a device is live; a disconnected device does not block the replay."""

from types import SimpleNamespace
from typing import Any

from tidings.gateway.connected_device import ChatPosition, ConnectedDevice
from tidings.gateway.resume.resume import ResumeService
from tidings.kernel.failpoints import NO_FAILPOINTS
from tidings.kernel.ids import ChatId, DeviceId, DeviceKey, TenantId, UserId

CHAT = ChatId("g")


class Ranges:
    """As the real ones: nothing is read for a device that has left."""

    def __init__(self) -> None:
        self.asked = 0

    async def catch_up(self, seat: ConnectedDevice, chat: ChatId, place: ChatPosition) -> None:
        del chat
        self.asked += 1
        assert self.asked < 10, "it goes round"
        if not seat.is_gone:
            place.position = place.ahead


def behind(ranges: Ranges) -> tuple[ResumeService, ConnectedDevice]:
    resuming: Any = object.__new__(ResumeService)
    resuming._parts, resuming._failpoints = SimpleNamespace(ranges=ranges), NO_FAILPOINTS
    connected: Any = SimpleNamespace()
    seat = ConnectedDevice(DeviceKey(TenantId("acme"), UserId("ben"), DeviceId("phone")), connected)
    seat.positions[CHAT] = ChatPosition(1)
    seat.positions[CHAT].on_push(5)
    return resuming, seat


async def test_recorded_pushes_are_read_before_the_device_is_live() -> None:
    resuming, seat = behind(Ranges())
    await resuming._replay(seat)
    assert seat.is_live
    assert seat.positions[CHAT].position == 5


async def test_a_device_that_left_while_it_resumed_is_not_waited_for() -> None:
    resuming, seat = behind(Ranges())
    seat.is_gone = True
    await resuming._replay(seat)
    assert not seat.is_live
