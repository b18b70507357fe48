"""`tidings run relay` on real streams, a real Kafka and a real Valkey."""

import asyncio
import signal

import failpoints
from contract.kafka.harness import publishing
from contract.telemetry.running import eventually
from fixtures.relay_processes import RelayProcesses

from tidings.schema.topics.model import MESSAGES


def checkpoint(env: RelayProcesses) -> str | None:
    leases = asyncio.run(env.leases())
    return leases[0].checkpoint if leases else None


def holder(env: RelayProcesses) -> str | None:
    leases = asyncio.run(env.leases())
    return leases[0].holder if leases else None


def await_holder(env: RelayProcesses, other_than: str | None = None) -> str:
    def look() -> str | None:
        found = holder(env)
        return None if found == other_than else found

    return eventually(look, f"holder other than {other_than}")


def await_moved(env: RelayProcesses, before: str | None) -> str:
    return eventually(lambda: found if (found := checkpoint(env)) != before else None, "new checkpoint")


def test_a_commit_without_a_publish_is_published_by_the_relay(env: RelayProcesses) -> None:
    chat = asyncio.run(env.commit("one", "two"))
    relay = env.start()
    env.await_published(chat, {1, 2, 3})
    assert checkpoint(env) is None, "published is not handled"
    asyncio.run(env.mark(chat, 3))
    await_moved(env, None)
    relay.await_metric('relay_commits_total{outcome="processed"}', 3)
    relay.close()


def test_a_worker_processes_an_entry_that_the_relay_published(env: RelayProcesses) -> None:
    env.start("delivery").wait_for("process started")
    relay = env.start()
    chat = asyncio.run(env.commit("one", "two"))
    stood = await_moved(env, None)
    relay.await_metric('relay_commits_total{outcome="processed"}', 3)
    assert env.published(chat) == [1, 2, 3], "once, in order"
    more = asyncio.run(env.commit("three"))
    await_moved(env, stood)
    assert env.published(more) == [1, 2, 3, 4]


def test_entries_below_the_checkpoint_are_not_republished(env: RelayProcesses) -> None:
    handled = asyncio.run(env.commit("handled", other="ben"))
    asyncio.run(env.mark(handled, 2))
    late = asyncio.run(env.commit("late", other="cleo"))
    env.start()
    env.await_published(late, {1, 2})
    assert env.published(handled) == []


def test_entries_that_lag_explains_are_not_republished(env: RelayProcesses) -> None:
    async def fill() -> None:
        async with publishing(env.connection) as publisher:
            await asyncio.gather(*(publisher.send(MESSAGES.name, b"%d" % n, b"") for n in range(20)))

    asyncio.run(fill())
    chat = asyncio.run(env.commit("one"))
    relay = env.start()
    relay.await_metric("relay_unhandled_seconds", 4)
    relay.await_metric("relay_largest_log_bytes", 200)
    assert env.published(chat) == []
    env.consume_all()
    env.await_published(chat, {1, 2})


def test_another_relay_continues_at_the_checkpoint_of_a_killed_one(env: RelayProcesses) -> None:
    first = asyncio.run(env.commit("one", "two", other="ben"))
    asyncio.run(env.mark(first, 3))
    one = env.start()
    stood = await_moved(env, None)
    two = env.start()
    two.wait_for("process started")
    one.popen.send_signal(signal.SIGKILL)
    late = asyncio.run(env.commit("late", other="cleo"))
    env.await_published(late, {1, 2})
    assert two.metric("relay_shards") == 1
    assert two.metric("relay_records_total") < 10, "it began at the checkpoint"
    assert env.published(first) == []
    asyncio.run(env.mark(late, 2))
    await_moved(env, stood)


def test_a_stopped_relay_releases_its_leases_immediately(env: RelayProcesses) -> None:
    one = env.start()
    had = await_holder(env)
    two = env.start(TIDINGS_RELAY_LEASE_S="600")
    two.wait_for("process started")
    one.popen.send_signal(signal.SIGTERM)
    assert one.popen.wait(30) == 0
    assert holder(env) != had


def test_a_former_holder_cannot_move_the_checkpoint_back(env: RelayProcesses) -> None:
    """It pauses before it writes its checkpoint, and continues after another process has advanced it."""
    pauses = {
        **failpoints.LOADED,
        "TIDINGS_FAILPOINTS_PAUSE_AT": "relay.renews",
        "TIDINGS_FAILPOINTS_PAUSE_DIR": str(env.directory),
    }
    chat = asyncio.run(env.commit("one"))
    asyncio.run(env.mark(chat, 2))
    hold = env.directory / "relay.renews.hold"
    hold.touch()
    zombie = env.start(**pauses)
    reached = env.directory / "relay.renews.reached"
    eventually(lambda: True if reached.exists() else None, "the pause")
    had = await_holder(env)
    env.start()
    await_holder(env, other_than=had)
    stood = await_moved(env, None)
    more = asyncio.run(env.commit("two", other="cleo"))
    asyncio.run(env.mark(more, 2))
    went_on = await_moved(env, stood)
    hold.unlink()
    zombie.await_metric("relay_leases_lost_total", 1)
    assert int(checkpoint(env) or 0) >= int(went_on)
