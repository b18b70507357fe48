"""Push notifications over real processes, with push services that verify signatures and encryption."""

import asyncio
import signal
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from e2e.delivery.chat_list_reader import looking
from e2e.delivery.test_offline_events import CLIENT as ACKING_CLIENT
from e2e.push.conftest import PushInstallation, new_apns_target
from e2e.push.steps import LONG_S, QUIET_S, direct, numbers, send, shown, withdrawals
from fixtures.loops import until

import tidings_sdk
from tidings.push.model import PushOutcome, PushPreferences, QuietHours
from tidings_sdk import ApnsToken

ZONES = ("UTC", *(f"Etc/GMT{hours:+d}" for hours in range(-12, 13) if hours))


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


async def test_the_sdk_registers_a_device_and_shows_the_same_badge(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    address = f"ws://127.0.0.1:{push.gateway.socket_port}/v1/socket"
    own = new_apns_target(40_000 + next(numbers))
    token = ApnsToken(token=own.token.upper(), topic=own.topic)
    hours = tidings_sdk.QuietHours(start="22:00", end="07:00", days=(5,))
    async with tidings_sdk.Client(address, push.processes.token(other), device="tablet", proxy=None) as app:
        await app.push.register(apns=token, locale="de")
        await app.push.set_preferences(notify="all", time_zone="Europe/Berlin", quiet_hours=hours)
        stored = (await app.push.preferences()).quiet_hours
        assert stored is not None
        assert (stored.start, stored.end, stored.days) == ("22:00", "07:00", (5,))
        await app.push.set_preferences()
        with pytest.raises(tidings_sdk.RequestRefused, match="time zone"):
            await app.push.set_preferences(time_zone="Berlin")
        with pytest.raises(tidings_sdk.RequestRefused, match="exactly one"):
            await app.push.register(fcm="a", http="b")
    await send(push, one, chat, 2)
    await until(lambda: shown(push, own, chat) == shown(push, target, chat) == 3, LONG_S)
    newest = [each for each in push.apns.delivered if each.token == own.token][-1]
    async with tidings_sdk.Client(address, push.processes.token(other), device="tablet", proxy=None) as app:
        badge = await app.push.badge()
        assert (badge.badge, badge.messages, badge.chats) == (newest.badge, 2, 1)
        await app.push.unregister()
    assert await push.registered(other) == [target]


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
    (result,) = await push.wait_for_results(chat, 2)
    assert result.reason.startswith("read: The recipient read the message")
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

    await until(lambda: withdrawals(push, target), LONG_S)
    await asyncio.sleep(QUIET_S)
    (withdrawal,) = withdrawals(push, target)
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


async def test_a_rotated_token_replaces_the_old_one(push_installation: PushInstallation) -> None:
    """The phone gets a new token; later its old one belongs to another user."""
    push = push_installation
    one, other, chat, old = await direct(push)
    new, third = new_apns_target(20_000 + next(numbers)), f"cleo{next(numbers)}"
    await push.register(other, new)
    assert await push.registered(other) == [new]
    await push.register(third, old)
    await push.register(third, new, "tablet")
    assert await push.registered(other) == []
    assert len(await push.registered(third)) == 2
    await send(push, one, chat)
    (result,) = await push.wait_for_results(chat, 2)
    assert result.reason.startswith("no_device: ")
    await push.register(other, new)
    await send(push, one, chat)
    await until(lambda: shown(push, new, chat) == 3, LONG_S)
    assert await push.registered(third) == [old]
    assert shown(push, old, chat) == 0


@pytest.mark.long
async def test_a_frozen_app_is_notified_once_its_socket_is_known_to_be_dead(
    push_installation: PushInstallation,
) -> None:
    """The app is stopped by SIGSTOP: its kernel keeps the socket open and accepts data."""
    push = push_installation
    one, other, chat, target = await direct(push)
    app = await asyncio.create_subprocess_exec(
        sys.executable, ACKING_CLIENT, str(push.gateway.socket_port), push.processes.token(other),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert app.stdout
    try:
        assert await app.stdout.readline() == b"resumed\n"
        await send(push, one, chat)
        assert await app.stdout.readline() == b"2\n"
        app.send_signal(signal.SIGSTOP)
        await send(push, one, chat, 2)
        await until(lambda: shown(push, target, chat) == 4, LONG_S)
    finally:
        app.kill()
        await app.wait()
    await asyncio.sleep(QUIET_S)
    received = [each for each in push.apns.delivered if each.token == target.token]
    assert 2 not in {each.sequence for each in received}
    assert len({each.sequence for each in received}) == len(received)
    assert received[-1].badge == 3


async def test_a_provider_that_was_down_is_notified_late_and_once(
    push_installation: PushInstallation,
) -> None:
    """With the default of `push.first_retry_s`, six attempts are made in two to four minutes."""
    push = push_installation
    one, _, chat, target = await direct(push)
    push.apns.is_down = True
    try:
        await send(push, one, chat)
        attempts = 0
        async with asyncio.timeout(LONG_S):
            while attempts < 6:
                (result,) = await push.wait_for_results(chat, 2, "retrying")
                attempts = len(result.attempts)
                await asyncio.sleep(0.2)
    finally:
        push.apns.is_down = False
    await until(lambda: shown(push, target, chat) == 2, LONG_S)
    (result,) = await push.wait_for_results(chat, 2, "sent")
    await asyncio.sleep(QUIET_S)
    assert len([each for each in push.apns.delivered if each.token == target.token]) == 1
    assert (result.attempts[-1].status, result.attempts[-2].status) == (200, 0)


async def test_many_invalid_tokens_cost_one_request_each(push_installation: PushInstallation) -> None:
    push, number, size = push_installation, next(numbers), 60
    owner, people = f"anna{number}", [f"ben{number}x{each}" for each in range(size)]
    chat = await push.processes.group(owner, *people)
    targets = [new_apns_target(30_000 + number * size + each) for each in range(size)]
    for user, target in zip(people, targets, strict=True):
        await push.register(user, target)
    alive = targets[0]
    push.apns.unregistered |= {target.token: 2**42 for target in targets[1:]}
    before = len(push.apns.refused)
    for sequence in (2, 3):
        await send(push, owner, chat)
        async with asyncio.timeout(LONG_S):
            while len(await push.results(chat, sequence)) < size:  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.2)
    assert shown(push, alive, chat) == 3
    assert push.apns.refused[before:] == [(410, "Unregistered")] * (size - 1)
    second = [each for each in await push.results(chat, 3) if each.device is None]
    assert len(second) == size - 1
    assert all(each.reason.startswith("no_device: ") for each in second)


async def test_in_a_large_chat_only_users_who_are_mentioned_are_notified(
    push_installation: PushInstallation,
) -> None:
    """A chat above 100 members has a channel, so delivery does not look up the routes of its members."""
    push, number = push_installation, next(numbers)
    owner, people = f"anna{number}", [f"ben{number}x{each}" for each in range(120)]
    chat = await push.processes.group(owner, *people[:60])
    sequence = 1 + await push.processes.add(chat, owner, *people[60:])
    targets = [new_apns_target(50_000 + number * 100 + each) for each in range(2)]
    for user, target in zip(people, targets, strict=False):
        await push.register(user, target)
    async with looking(push.processes, push.gateway.socket_port, owner) as device:
        sent = {"chat": chat, "client_message_id": "1", "text": "hi", "mentions": [people[0], owner]}
        await device.say(id=90, send=sent)
        await device.answered(90)
    await until(lambda: shown(push, targets[0], chat) == sequence, LONG_S)
    await asyncio.sleep(QUIET_S)
    (received,) = [each for each in push.apns.delivered if each.token == targets[0].token]
    assert received.payload["tidings"]["mention"] == "true"
    assert {each.user for each in await push.results(chat, sequence)} == {people[0]}
    assert shown(push, targets[1], chat) == 0


async def test_quiet_hours_follow_the_time_zone_of_the_user(push_installation: PushInstallation) -> None:
    """The user sleeps from 22:00 to 07:00, and flies to a place where it is noon."""
    push = push_installation
    one, other, chat, target = await direct(push)
    now = datetime.now(UTC)
    hours = QuietHours(start=22 * 60, end=7 * 60)
    night = next(zone for zone in ZONES if now.astimezone(ZoneInfo(zone)).hour in {1, 2})
    day = next(zone for zone in ZONES if now.astimezone(ZoneInfo(zone)).hour in {11, 12})
    await push.set_preferences(other, PushPreferences(time_zone=night, quiet_hours=hours))
    await send(push, one, chat)
    (result,) = await push.wait_for_results(chat, 2)
    assert result.reason == f"quiet_hours: Quiet hours of the recipient ({night})."
    await push.set_preferences(other, PushPreferences(time_zone=day, quiet_hours=hours))
    await send(push, one, chat)
    await until(lambda: shown(push, target, chat) == 3, LONG_S)
    received = [each for each in push.apns.delivered if each.token == target.token]
    assert [each.badge for each in received] == [2]


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
    await push.wait_for_results(chat, 2)
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


@pytest.mark.long
async def test_a_worker_that_is_killed_during_an_outage_loses_nothing(
    push_installation: PushInstallation,
) -> None:
    """It is killed before, and after the next attempt is published. Then two tasks try; requests are at most kills + 1."""
    push = push_installation
    one, _, chat, target = await direct(push)
    push.apns.is_down = True
    try:
        push.worker.hold("push.recorded")
        await send(push, one, chat)
        await push.worker.reached("push.recorded")
        push.kill_worker()
        push.start_worker()
        push.worker.hold("push.followed_up")
        await push.worker.reached("push.followed_up")
        push.kill_worker()
    finally:
        push.apns.is_down = False
    push.start_worker()
    await push.wait_for_results(chat, 2, "sent")
    await asyncio.sleep(QUIET_S)
    received = [each for each in push.apns.delivered if each.token == target.token]
    assert 1 <= len(received) <= 3
    assert {each.headers["apns-collapse-id"] for each in received} == {chat}
    assert shown(push, target, chat) == 2


async def test_a_worker_that_is_killed_during_a_withdrawal_repeats_it(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    one, other, chat, target = await direct(push)
    await send(push, one, chat)
    await until(lambda: shown(push, target, chat) == 2, LONG_S)
    push.worker.hold("push.withdrawn")
    async with looking(push.processes, push.gateway.socket_port, other) as laptop:
        await laptop.holds(chat, 2)
        await laptop.say(id=90, read={"chat": chat, "sequence": 2})
        await laptop.answered(90)
        await push.worker.reached("push.withdrawn")
    push.kill_worker()
    push.start_worker()
    await until(lambda: len(withdrawals(push, target)) == 2, LONG_S)
    await asyncio.sleep(QUIET_S)
    first, second = withdrawals(push, target)
    assert first.payload == second.payload
    assert first.headers["apns-collapse-id"] == second.headers["apns-collapse-id"] == chat
