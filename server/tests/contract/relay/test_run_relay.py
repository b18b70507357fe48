"""`tidings run relay` on real streams, a real Kafka and a real Valkey."""

import asyncio
import signal

import failpoints
from contract.kafka.harness import publishing
from contract.telemetry.running import eventually
from fixtures.relay_processes import RelayProcesses

from tidings.schema.topics.model import MESSAGES


def checkpoint(house: RelayProcesses) -> str | None:
    leases = asyncio.run(house.leases())
    return leases[0].checkpoint if leases else None


def holder(house: RelayProcesses) -> str | None:
    leases = asyncio.run(house.leases())
    return leases[0].holder if leases else None


def await_holder(house: RelayProcesses, other_than: str | None = None) -> str:
    def look() -> str | None:
        found = holder(house)
        return None if found == other_than else found

    return eventually(look, f"holder other than {other_than}")


def await_moved(house: RelayProcesses, before: str | None) -> str:
    return eventually(lambda: found if (found := checkpoint(house)) != before else None, "new checkpoint")


def test_a_commit_without_a_publish_is_published_by_the_relay(house: RelayProcesses) -> None:
    chat = asyncio.run(house.commit("one", "two"))
    relay = house.start()
    house.await_published(chat, {1, 2, 3})
    assert checkpoint(house) is None, "published is not handled"
    asyncio.run(house.mark(chat, 3))
    await_moved(house, None)
    relay.await_metric('relay_commits_total{outcome="processed"}', 3)
    relay.close()


def test_a_worker_processes_an_entry_that_the_relay_published(house: RelayProcesses) -> None:
    house.start("delivery").wait_for("process started")
    relay = house.start()
    chat = asyncio.run(house.commit("one", "two"))
    stood = await_moved(house, None)
    relay.await_metric('relay_commits_total{outcome="processed"}', 3)
    assert house.published(chat) == [1, 2, 3], "once, in order"
    more = asyncio.run(house.commit("three"))
    await_moved(house, stood)
    assert house.published(more) == [1, 2, 3, 4]


def test_entries_below_the_checkpoint_are_not_republished(house: RelayProcesses) -> None:
    handled = asyncio.run(house.commit("handled", other="ben"))
    asyncio.run(house.mark(handled, 2))
    late = asyncio.run(house.commit("late", other="cleo"))
    house.start()
    house.await_published(late, {1, 2})
    assert house.published(handled) == []


def test_entries_that_lag_explains_are_not_republished(house: RelayProcesses) -> None:
    async def fill() -> None:
        async with publishing(house.connection) as publisher:
            await asyncio.gather(*(publisher.send(MESSAGES.name, b"%d" % n, b"") for n in range(20)))

    asyncio.run(fill())
    chat = asyncio.run(house.commit("one"))
    relay = house.start()
    relay.await_metric("relay_unhandled_seconds", 4)
    relay.await_metric("relay_largest_log_bytes", 200)
    assert house.published(chat) == []
    house.consume_all()
    house.await_published(chat, {1, 2})


def test_another_relay_continues_at_the_checkpoint_of_a_killed_one(house: RelayProcesses) -> None:
    first = asyncio.run(house.commit("one", "two", other="ben"))
    asyncio.run(house.mark(first, 3))
    one = house.start()
    stood = await_moved(house, None)
    two = house.start()
    two.wait_for("process started")
    one.popen.send_signal(signal.SIGKILL)
    late = asyncio.run(house.commit("late", other="cleo"))
    house.await_published(late, {1, 2})
    assert two.metric("relay_shards") == 1
    assert two.metric("relay_records_total") < 10, "it began at the checkpoint"
    assert house.published(first) == []
    asyncio.run(house.mark(late, 2))
    await_moved(house, stood)


def test_a_stopped_relay_releases_its_leases_immediately(house: RelayProcesses) -> None:
    one = house.start()
    had = await_holder(house)
    two = house.start(TIDINGS_RELAY_LEASE_S="600")
    two.wait_for("process started")
    one.popen.send_signal(signal.SIGTERM)
    assert one.popen.wait(30) == 0
    assert holder(house) != had


def test_a_former_holder_cannot_move_the_checkpoint_back(house: RelayProcesses) -> None:
    """It pauses before it writes its checkpoint, and continues after another process has advanced it."""
    pauses = {
        **failpoints.LOADED,
        "TIDINGS_FAILPOINTS_PAUSE_AT": "relay.renews",
        "TIDINGS_FAILPOINTS_PAUSE_DIR": str(house.directory),
    }
    chat = asyncio.run(house.commit("one"))
    asyncio.run(house.mark(chat, 2))
    hold = house.directory / "relay.renews.hold"
    hold.touch()
    zombie = house.start(**pauses)
    reached = house.directory / "relay.renews.reached"
    eventually(lambda: True if reached.exists() else None, "the pause")
    had = await_holder(house)
    house.start()
    await_holder(house, other_than=had)
    stood = await_moved(house, None)
    more = asyncio.run(house.commit("two", other="cleo"))
    asyncio.run(house.mark(more, 2))
    went_on = await_moved(house, stood)
    hold.unlink()
    zombie.await_metric("relay_leases_lost_total", 1)
    assert int(checkpoint(house) or 0) >= int(went_on)
