"""Live inboxes on whole installations: all devices of a user receive every change of their notifications."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from fixtures.installation_processes import Balancer, InstallationProcesses
from fixtures.loops import until
from fixtures.phone_login import LONG_S, Phone, server_of

from tidings_sdk import RequestRefused, State

pytestmark = pytest.mark.deadline(600.0)


async def both(one: Phone, other: Phone, holds: Callable[[Phone], bool]) -> None:
    await until(lambda: holds(one) and holds(other), LONG_S)


async def test_a_change_on_one_device_is_pushed_to_the_other(installation: InstallationProcesses) -> None:
    """On two gateways: delivered, read, unread, seen, amended, archived, redacted."""
    one, two, _ = installation.ready("gateway", "gateway", "notifications")
    async with (
        server_of(installation) as server,
        Phone(installation, one.socket_port, "ben") as phone,
        Phone(installation, two.socket_port, "ben", "laptop") as laptop,
    ):
        first, second = await server.send("ben", title="one"), await server.send("ben", "anna", title="two")
        await both(phone, laptop, lambda each: each.ids("added") >= {first, second})
        await both(phone, laptop, lambda each: each.counts == (2, 2, {"news": 2}))
        assert {
            notification.message["title"] for update in laptop.inbox_updates for notification in update.added
        } == {
            "one",
            "two",
        }
        assert (await phone.inbox.mark_read([first])).unread == 1
        await until(lambda: laptop.counts == (1, 1, {"news": 1}), LONG_S)
        await phone.inbox.mark_unread([first])
        await until(lambda: laptop.counts[0] == 2, LONG_S)
        await laptop.inbox.mark_seen()
        await until(lambda: phone.counts[1] == 0, LONG_S)
        await server.ask("PATCH", f"/notifications/{second}", {"message": {"title": "two, corrected"}})
        await until(lambda: laptop.ids("amended") == {second}, LONG_S)
        [amended] = [notification for update in laptop.inbox_updates for notification in update.amended]
        assert (amended.message, amended.version) == ({"title": "two, corrected"}, 2)
        await phone.inbox.archive([first])
        await until(lambda: laptop.counts[0] == 1, LONG_S)
        await server.ask("DELETE", f"/notifications/{second}")
        await both(phone, laptop, lambda each: each.ids("removed") == {second})
        await both(phone, laptop, lambda each: each.counts == (0, 0, {"news": 0}))
        assert [
            notification.id for notification in (await laptop.inbox.list(is_archived=True)).notifications
        ] == [first]
        assert await server.counts("ben") == phone.counts


async def test_pages_are_consecutive_and_mark_all_stops_at_its_time(
    installation: InstallationProcesses,
) -> None:
    gateway, _ = installation.ready("gateway", "notifications")
    async with server_of(installation) as server, Phone(installation, gateway.socket_port, "ben") as phone:
        sent = []
        for number in range(5):  # one after the other, so that each is delivered at a time of its own
            sent.append(await server.send("ben", title=f"{number}"))
            await until(lambda: phone.counts[0] == len(sent), LONG_S)
        page = await phone.inbox.list(limit=2, category="news")
        rest = await phone.inbox.list(limit=10, cursor=page.cursor)
        assert [notification.id for notification in (*page.notifications, *rest.notifications)] == sorted(
            sent, reverse=True
        )
        middle = rest.notifications[0]
        assert (await phone.inbox.mark_all_read(before=middle.delivered_at)).unread == 2
        unread = await phone.inbox.list(is_unread=True)
        assert {notification.id for notification in unread.notifications} == {
            notification.id for notification in page.notifications
        }
        assert await server.counts("ben") == phone.counts


@pytest.mark.long
async def test_a_gateway_is_killed_during_a_send_to_a_thousand_users(
    installation: InstallationProcesses,
) -> None:
    """Fifty users are connected. Devices of the killed gateway reconnect and end with the same counts as REST."""
    one, two, _ = installation.ready("gateway", "gateway", "notifications")
    people = [f"user{number:04}" for number in range(1_000)]
    async with Balancer() as balancer, server_of(installation) as server, AsyncExitStack() as stack:
        balancer.ports = [one.socket_port, two.socket_port]
        phones = [
            await stack.enter_async_context(Phone(installation, balancer.port, user)) for user in people[::20]
        ]
        assert len(phones) == 50
        await server.send(*people, title="first")
        await until(lambda: any(phone.counts[0] for phone in phones), LONG_S)
        balancer.ports = [two.socket_port]
        one.popen.kill()
        await server.send(*people, title="second")
        await until(lambda: all(phone.counts == (2, 2, {"news": 2}) for phone in phones), LONG_S)
        for phone in phones[::10]:
            assert await server.counts(phone.user) == phone.counts
        await asyncio.gather(*(phone.inbox.mark_all_read() for phone in phones[:10]))
        assert [phone.counts[0] for phone in phones[:10]] == [0] * 10


async def test_changes_without_a_route_are_received_when_the_device_resumes(
    installation: InstallationProcesses,
) -> None:
    """Redis is emptied, so a marked notification finds no route. After the next heartbeat the device resumes."""
    gateway, _ = installation.ready(
        "gateway", "notifications", GATEWAY_RENEW_EVERY_S="2", GATEWAY_LEASE_S="8"
    )
    async with server_of(installation) as server, Phone(installation, gateway.socket_port, "ben") as phone:
        notification = await server.send("ben")
        await until(lambda: phone.counts[0] == 1, LONG_S)
        installation.flush_redis()
        await server.ask("POST", "/read", {"ids": [notification]}, user="ben")
        await until(lambda: phone.counts == (0, 0, {"news": 0}), LONG_S)
        assert phone.client.state is State.LIVE


async def test_a_rejected_request_returns_its_error_and_changes_nothing(
    installation: InstallationProcesses,
) -> None:
    gateway, _ = installation.ready("gateway", "notifications")
    async with server_of(installation) as server, Phone(installation, gateway.socket_port, "ben") as phone:
        await server.send("ben")
        await until(lambda: phone.counts[0] == 1, LONG_S)
        with pytest.raises(RequestRefused) as unknown:
            await phone.client.inbox("nowhere").list()
        assert unknown.value.code == "inbox_not_found"
        with pytest.raises(RequestRefused) as category:
            await phone.inbox.mark_all_read(category="nothing")
        assert category.value.code == "request_invalid"
        assert (await phone.inbox.mark_read([])).unread == 1
        assert await server.counts("ben") == (1, 1, {"news": 1})
