"""Notifications of inboxes on devices, over real processes. The push worker is killed after a provider's answer."""

import asyncio

import pytest
from e2e.delivery.chat_list_reader import looking
from e2e.push.conftest import PushInstallation, new_apns_target
from e2e.push.steps import LONG_S, QUIET_S, numbers
from fixtures.apns_server import Delivered
from fixtures.loops import until
from fixtures.notifications import NEWS, CollectedChunks

from tidings.app.wiring.inboxes import InboxServices, build_inboxes
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.sender import SendNotificationRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import UserId
from tidings.push.model import ApnsTarget

INBOX = InboxId("default")


async def notify(push: PushInstallation, *users: str) -> NotificationId:
    """Send a notification. Its chunks are not published here: the sweeper of the installation does it."""
    async with push.use_cases() as env:
        inboxes: InboxServices = build_inboxes(env.client, env.ring, SystemClock(), CollectedChunks())
        await inboxes.inboxes.set(env.tenant, INBOX, lambda _: NEWS)
        request = SendNotificationRequest(
            user_ids=[UserId(user) for user in users], message={"title": "Goal!"}, category="sport"
        )
        return (await inboxes.sender.send(env.tenant, INBOX, request)).notification


async def mark_read(push: PushInstallation, user: str, notification: NotificationId) -> None:
    async with push.use_cases() as env:
        inboxes = build_inboxes(env.client, env.ring, SystemClock(), CollectedChunks())
        await inboxes.marker.read(InboxKey(env.tenant, UserId(user), INBOX), [notification])


async def new_device(push: PushInstallation) -> tuple[str, ApnsTarget]:
    number = 60_000 + next(numbers)
    user, target = f"reader{number}", new_apns_target(number)
    await push.register(user, target)
    return user, target


def received(push: PushInstallation, target: ApnsTarget, notification: NotificationId) -> list[Delivered]:
    return [
        each
        for each in push.apns.delivered
        if each.token == target.token and each.payload["tidings"].get("notification_id") == notification
    ]


async def test_a_notification_reaches_offline_users_once_although_the_worker_is_killed(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    people = [await new_device(push) for _ in range(5)]
    push.worker.hold("push.notification_sent")
    notification = await notify(push, *(user for user, _ in people))
    await push.worker.reached("push.notification_sent")
    push.kill_worker()
    push.start_worker()
    await until(lambda: all(received(push, target, notification) for _, target in people), LONG_S)
    await asyncio.sleep(QUIET_S)
    requests = [received(push, target, notification) for _, target in people]
    shown = {each.headers["apns-collapse-id"] for some in requests for each in some}
    assert shown == {notification}
    assert {each.badge for some in requests for each in some} == {1}
    # The worker died after the requests of all users and before their results were stored.
    assert all(len(some) <= 2 for some in requests)


@pytest.mark.long
async def test_a_connected_user_who_reads_the_notification_is_not_notified(
    push_installation: PushInstallation,
) -> None:
    push = push_installation
    (reader, first), (other, second) = await new_device(push), await new_device(push)
    async with (
        looking(push.processes, push.gateway.socket_port, reader),
        looking(push.processes, push.gateway.socket_port, other),
    ):
        notification = await notify(push, reader, other)
        await asyncio.sleep(10)
        assert received(push, first, notification) == received(push, second, notification) == []
        await mark_read(push, reader, notification)
        await until(lambda: received(push, second, notification) != [], LONG_S)
        assert received(push, first, notification) == []
