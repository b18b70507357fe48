"""Push notifications over real processes, with push services that verify signatures and encryption."""

import asyncio
import signal
from itertools import count

import pytest
from e2e.delivery.chat_list_reader import looking
from e2e.push.conftest import PushInstallation, new_apns_target
from fixtures.apns_server import Delivered
from fixtures.loops import until

from tidings.push.model import ApnsTarget, PushOutcome

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


async def send(push: PushInstallation, user: str, chat: str, messages: int = 1) -> None:
    async with looking(push.processes, push.gateway.socket_port, user) as device:
        for _ in range(messages):
            await device.send(chat)
        await asyncio.sleep(0.2)


async def test_an_offline_user_is_notified_once_with_the_exact_badge(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    config = push.services.browsers.config()
    await push.set_provider(config)
    browser = push.services.browsers.subscribe(config)
    await push.register(other, browser.target(push.services.browsers.http2.origin), "laptop")
    await send(push, one, chat, 3)
    await until(lambda: shown(push, target, chat) == 4, LONG_S)
    await asyncio.sleep(QUIET_S)
    received = [each for each in push.apns.delivered if each.token == target.token]
    assert received[-1].badge == 3
    assert len({each.sequence for each in received}) == len(received)
    assert [("sound" in each.payload["aps"]) for each in received].count(True) == 1
    assert {each.headers["apns-collapse-id"] for each in received} == {chat}
    assert browser.received[-1]["badge"] == 3
    assert browser.received[-1]["tidings"]["sequence"] == "4"
    assert push.services.browsers.refused == []
    results = {each.device: each for each in await push.results(chat, 4) if each.device}
    assert {device: each.outcome for device, each in results.items()} == {"phone": "sent", "laptop": "sent"}
    (attempt,) = results[next(iter(results))].attempts
    assert attempt.status in {200, 201}


async def test_a_message_that_was_read_elsewhere_is_not_notified(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    push.worker.popen.send_signal(signal.SIGSTOP)
    try:
        await send(push, one, chat)
        await asyncio.sleep(QUIET_S)
        await push.read(other, chat, 2)
    finally:
        push.worker.popen.send_signal(signal.SIGCONT)
    results: list[str] = []

    async with asyncio.timeout(LONG_S):
        while not results:
            results = [each.reason for each in await push.results(chat, 2)]
            await asyncio.sleep(0.2)
    assert results[0].startswith("read: The recipient read the message")
    assert shown(push, target, chat) == 0


async def test_a_read_on_another_device_withdraws_the_notification(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    await send(push, one, chat, 2)
    await until(lambda: shown(push, target, chat) == 3, LONG_S)
    async with looking(push.processes, push.gateway.socket_port, other) as laptop:
        await laptop.holds(chat, 3)
        await laptop.say(id=90, read={"chat": chat, "sequence": 3})
        await laptop.answered(90)

    def withdrawals() -> list[Delivered]:
        received = [each for each in push.apns.delivered if each.token == target.token]
        return [each for each in received if each.payload["tidings"]["action"] == "withdraw"]

    await until(withdrawals, LONG_S)
    await asyncio.sleep(QUIET_S)
    (withdrawal,) = withdrawals()
    assert withdrawal.headers["apns-collapse-id"] == chat
    assert withdrawal.payload["aps"] == {"badge": 0, "content-available": 1}


async def test_an_invalid_token_is_removed(push_installation: PushInstallation) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    push.apns.unregistered[target.token] = 2**42
    await send(push, one, chat)
    async with asyncio.timeout(LONG_S):
        while await push.registered(other):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.2)
    (result,) = [each for each in await push.results(chat, 2) if each.device]
    assert (result.outcome, result.attempts[0].answer) == (PushOutcome.GONE, "Unregistered")
    renewed = new_apns_target(10_000 + next(numbers))
    await push.register(other, renewed)
    await send(push, one, chat)
    await until(lambda: shown(push, renewed, chat) == 3, LONG_S)


async def test_a_provider_that_was_down_is_notified_late_and_once(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, _, chat, target = await direct(push)
    push.apns.is_down = True
    try:
        await send(push, one, chat)
        async with asyncio.timeout(LONG_S):
            while not await push.results(chat, 2):  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.2)
    finally:
        push.apns.is_down = False
    await until(lambda: shown(push, target, chat) == 2, LONG_S)
    await asyncio.sleep(QUIET_S)
    assert len([each for each in push.apns.delivered if each.token == target.token]) == 1
    (result,) = [each for each in await push.results(chat, 2) if each.device]
    assert (result.outcome, len(result.attempts)) == (PushOutcome.SENT, 2)


@pytest.mark.parametrize("step", ["push.decided", "push.sent", "push.alert_raised", "push.recorded"])
async def test_a_worker_that_is_killed_loses_and_doubles_nothing(
    push_installation: PushInstallation, step: str
) -> None:
    push = push_installation
    one, _, chat, target = await direct(push)
    push.worker.hold(step)
    await send(push, one, chat)
    await push.worker.reached(step)
    push.kill_worker()
    push.start_worker()
    async with asyncio.timeout(LONG_S):
        while not await push.results(chat, 2):  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.2)
    # The event is read again after Kafka has noticed the end of the killed worker.
    await until(
        lambda: push.worker.metric('push_notifications_total{outcome="sent"}') or step == "push.recorded"
    )
    await asyncio.sleep(QUIET_S)
    assert shown(push, target, chat) == 2
    received = [each for each in push.apns.delivered if each.token == target.token]
    assert len({(each.headers["apns-collapse-id"], each.headers["apns-id"]) for each in received}) == 1
    assert len(received) == (1 if step in {"push.decided", "push.recorded"} else 2)
    (result,) = [each for each in await push.results(chat, 2) if each.device]
    assert result.outcome is PushOutcome.SENT
