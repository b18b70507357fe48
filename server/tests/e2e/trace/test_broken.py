"""`tidings trace` on an installation with a fault: it reports the fault, and which facts are no longer known."""

from e2e.delivery.connected_device import watching
from e2e.trace.asking import state_of, trace, until_traced
from fixtures.gateway_process import connected
from fixtures.installation_processes import InstallationProcesses

from tidings.kernel.ids import ChatId, ChatKey, UserId

_NOBODY = "127.0.0.1:9"


async def test_no_worker_runs(city: InstallationProcesses) -> None:
    """The message is published and not processed until a worker starts."""
    [gateway] = city.ready("gateway")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna") as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        told = await until_traced(
            city, chat, sent, lambda told: told.trace["published"]["offset"] is not None
        )
        assert (told.exit_code, told.outcome) == (3, "in_progress")
        assert told.of("ben")["state"] == "not_handled"
        behind, partition = told.trace["published"]["behind"], told.trace["published"]["partition"]
        assert behind >= 1
        why = f"delivery is {behind} events behind on partition {partition}"
        assert why in told.trace["verdict"]
        assert why in told.of("ben")["verdict"]
        assert told.trace["handled"]["is_handled"] is False
        city.ready("delivery")
        told = await until_traced(city, chat, sent, state_of("ben", "waiting"))
        assert told.trace["handled"]["is_handled"] is True


async def test_the_message_is_not_published(city: InstallationProcesses) -> None:
    """The process died directly after the commit, and no relay runs."""
    city.ready("delivery")
    chat = await city.direct("anna", "ben")
    async with city.stage() as use_cases:
        sent = (await use_cases.send(ChatKey(chat.tenant, ChatId(chat.chat)), UserId("anna"))).sequence
    told = await trace(city, chat.chat, sent)
    assert told.exit_code == 3
    assert "it was not published" in told.trace["verdict"]
    city.ready("relay")
    await until_traced(city, chat.chat, sent, state_of("ben", "waiting"))


async def test_a_gateway_was_killed(city: InstallationProcesses) -> None:
    """Its routes exist until their leases expire. The next message finds no subscriber and is queued."""
    one, two, _ = city.ready("gateway", "gateway", "delivery")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, one.socket_port, "anna") as (anna,):
        async with connected(city, two.socket_port, "ben", device="deaf"):
            sent = (await anna.client.chat(chat).send("hello")).sequence
            await until_traced(city, chat, sent, state_of("ben", "not_acked"))
            two.popen.kill()
            told = await until_traced(city, chat, sent, state_of("ben", "stale_route"))
        assert told.exit_code == 3
        assert "which is not running" in told.of("ben")["verdict"]
        assert [each["is_gateway_there"] for each in told.of("ben")["devices"]] == [False]
        later = (await anna.client.chat(chat).send("and now?")).sequence
        told = await until_traced(city, chat, later, state_of("ben", "waiting"))
        assert (told.exit_code, told.of("ben")["devices"]) == (0, [])
        first = await trace(city, chat, sent)
        assert first.of("ben")["state"] == "offline"


async def test_redis_was_emptied(city: InstallationProcesses) -> None:
    """Facts from rows and watermarks stay known. Facts that were only in Redis are reported as no longer known."""
    gateway, worker = city.ready("gateway", "delivery")
    chat = (await city.direct("anna", "ben")).chat
    async with (
        watching(city, gateway.socket_port, "anna") as (anna,),
        watching(city, gateway.socket_port, "ben"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        await until_traced(city, chat, sent, state_of("ben", "delivered"))
    worker.popen.terminate()
    assert worker.exit_code() == 0
    city.flush_redis()
    told = await trace(city, chat, sent)
    assert (told.exit_code, told.outcome) == (0, "arrived")
    assert told.trace["handled"]["is_handled"] is None
    assert told.trace["handled"]["verdict"].startswith("no longer known")
    assert told.of("ben")["state"] == "delivered"


async def test_redis_and_kafka_are_unavailable(city: InstallationProcesses) -> None:
    gateway, _ = city.ready("gateway", "delivery")
    chat = (await city.direct("anna", "ben")).chat
    async with watching(city, gateway.socket_port, "anna") as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        await until_traced(city, chat, sent, state_of("ben", "waiting"))
    told = await trace(city, chat, sent, REDIS_URL=f"redis://{_NOBODY}", KAFKA_BOOTSTRAP_SERVERS=_NOBODY)
    assert (told.exit_code, told.outcome) == (4, "unknown")
    assert told.of("ben")["state"] == "unknown"
    assert "it waits in the offline queue" in told.of("ben")["verdict"]
    assert told.trace["published"]["verdict"].startswith("not known: Kafka")
