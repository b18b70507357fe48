"""Steps of the scenarios: users with a chat, messages, and what a device shows."""

import asyncio
from itertools import count

from e2e.delivery.chat_list_reader import looking
from e2e.push.conftest import PushInstallation, new_apns_target
from fixtures.apns_server import Delivered

from tidings.push.model import ApnsTarget

LONG_S = 90.0
QUIET_S = 3.0
"""Longer than the way of an event, so that a notification that must not exist would be there."""

numbers = count(1)


async def direct(push: PushInstallation) -> tuple[str, str, str, ApnsTarget]:
    """Create two users, their chat, and the registration of the second one."""
    number = next(numbers)
    one, other, target = f"anna{number}", f"ben{number}", new_apns_target(number)
    chat = (await push.processes.direct(one, other)).chat
    await push.register(other, target)
    return one, other, chat, target


def shown(push: PushInstallation, target: ApnsTarget, chat: str) -> int:
    """Return the sequence of the message that the device shows for a chat; 0 for none."""
    found = push.apns.shown(target.token).get(chat)
    return 0 if found is None else found.sequence


def withdrawals(push: PushInstallation, target: ApnsTarget) -> list[Delivered]:
    received = [each for each in push.apns.delivered if each.token == target.token]
    return [each for each in received if each.payload["tidings"]["action"] == "withdraw"]


async def send(push: PushInstallation, user: str, chat: str, messages: int = 1) -> None:
    async with looking(push.processes, push.gateway.socket_port, user) as device:
        for _ in range(messages):
            await device.send(chat)
        await asyncio.sleep(0.2)
