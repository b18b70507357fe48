"""Live broadcasts on whole installations: subscribed users are notified on every gateway, each in their spread slot."""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until
from fixtures.phone_login import LONG_S, Phone, server_of

from tidings.engines.model import Engine
from tidings.inboxes.broadcasts.model import PARTS, rollout_bucket
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import stable_hash
from tidings_sdk import State

pytestmark = pytest.mark.deadline(600.0)
SPREAD_S = 6.0


async def test_subscribed_users_on_both_gateways_are_notified_once_within_the_configured_time(
    installation: InstallationProcesses,
) -> None:
    one, two = installation.ready("gateway", "gateway", INBOXES_BROADCAST_SPREAD_S=str(SPREAD_S))
    async with server_of(installation) as server, AsyncExitStack() as stack:
        phones = [
            await stack.enter_async_context(
                Phone(installation, (one, two)[number % 2].socket_port, f"user{number:03}")
            )
            for number in range(60)
        ]
        notification = await server.broadcast()
        await until(lambda: all(phone.broadcast_updates for phone in phones), LONG_S)
        assert all(phone.notified_ids("added") == [notification] for phone in phones)
        times = [phone.broadcast_updates[0][0] for phone in phones]
        assert max(times) - min(times) > SPREAD_S / 2
        assert max(Counter(int(at * 10) for at in times).values()) <= 20
        phone = phones[7]
        update = phone.broadcast_updates[0][1]
        assert (update.added[0].message, update.up_to, update.added[0].is_read) == (
            {"title": "hello"},
            1,
            False,
        )
        was_stale, old = phone.inbox.is_stale, phone.counts
        fresh = await phone.inbox.refresh()
        assert (was_stale, old, fresh.unread, phone.inbox.is_stale) == (True, (0, 0, {"news": 0}), 1, False)
        await server.ask("PATCH", f"/notifications/{notification}", {"message": {"title": "corrected"}})
        await until(lambda: all(phone.notified_ids("amended") == [notification] for phone in phones), LONG_S)
        assert phone.broadcast_updates[-1][1].amended[0].message == {"title": "corrected"}
        await server.ask("DELETE", f"/notifications/{notification}")
        await until(lambda: all(phone.notified_ids("removed") == [notification] for phone in phones), LONG_S)
        assert (await phone.inbox.list()).notifications == ()
        assert all(phone.notified_ids("added") == [notification] for phone in phones)


async def test_segments_steps_and_scheduled_starts_notify_the_selected_users(
    installation: InstallationProcesses,
) -> None:
    one, two, _ = installation.ready("gateway", "gateway", "notifications", INBOXES_BROADCAST_SPREAD_S="0.5")
    async with server_of(installation) as server, AsyncExitStack() as stack:
        users = [f"user{number}" for number in range(12)]
        await server.ask("PUT", "/segments/pros", {"predicate": {"attribute": "plan", "is": "pro"}})
        for user in users[:4]:
            await server.ask("PUT", f"/users/{user}/profile", {"attributes": {"plan": "pro"}})
        phones = [
            await stack.enter_async_context(Phone(installation, (one, two)[number % 2].socket_port, user))
            for number, user in enumerate(users)
        ]

        def notified_users(notification: str) -> set[str]:
            return {phone.user for phone in phones if notification in phone.notified_ids("added")}

        pros = await server.broadcast(segment="pros")
        await until(lambda: notified_users(pros) == set(users[:4]), LONG_S)
        ramp = await server.broadcast(ramp=[{"percent": 50}])
        half = {user for user in users if rollout_bucket(stable_hash(user), stable_hash(ramp)) < PARTS // 2}
        await until(lambda: notified_users(ramp) == half, LONG_S)
        await server.ask("POST", f"/broadcasts/{ramp}/ramp", {"percent": 100})
        await until(lambda: notified_users(ramp) == set(users), LONG_S)
        later = await server.broadcast(starts_at=format_ms(int(time.time() * 1000) + 1_500))
        await until(lambda: notified_users(later) == set(users), LONG_S)
        # no user was notified twice, or of a broadcast to others
        assert all(
            len(phone.notified_ids("added")) == len(set(phone.notified_ids("added"))) for phone in phones
        )
        assert notified_users(pros) == set(users[:4])
        for phone in phones:
            assert {each.id for each in (await phone.inbox.list()).notifications} == set(
                phone.notified_ids("added")
            )


async def test_broadcasts_sent_without_redis_are_announced_when_it_is_available_again(
    installation: InstallationProcesses,
) -> None:
    """The publisher cannot reach Redis. After the channels are subscribed again, gateways read the broadcast log."""
    gateway = installation.ready("gateway", INBOXES_BROADCAST_SPREAD_S="0.5")[0]
    async with server_of(installation) as server, Phone(installation, gateway.socket_port, "ben") as phone:
        first = await server.broadcast("before")
        await until(lambda: phone.notified_ids("added") == [first], LONG_S)
        installation.flush_redis()
        second = await server.broadcast("wiped")
        await until(lambda: second in phone.notified_ids("added"), LONG_S)
        assert phone.client.state is State.LIVE
        [redis] = [
            each.node.name for each in installation.fleet.status() if each.node.engine is Engine.VALKEY
        ]
        await asyncio.to_thread(installation.fleet.kill, redis)
        third = await server.broadcast("away")
        # Not in a thread: the engine exits together with the thread that started it, and later tests need it.
        installation.fleet.restart(redis)
        await until(lambda: third in phone.notified_ids("added"), LONG_S)
        assert (await phone.inbox.refresh()).unread == 3
