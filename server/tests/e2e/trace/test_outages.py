"""`tidings trace` on an installation with a fault: it reports the fault, and which facts are no longer known."""

import pytest
from e2e.delivery.connected_device import watching
from e2e.trace.trace_command import state_of, trace, until_traced
from fixtures.gateway_process import connected
from fixtures.installation_processes import InstallationProcesses

from tidings.kernel.ids import ChatId, ChatKey, UserId

_CLOSED_PORT = "127.0.0.1:9"


async def test_no_worker_runs(installation: InstallationProcesses) -> None:
    """The message is published and not processed until a worker starts."""
    [gateway] = installation.ready("gateway")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna") as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        traced = await until_traced(
            installation, chat, sent, lambda traced: traced.trace["published"]["offset"] is not None
        )
        assert (traced.exit_code, traced.outcome) == (3, "in_progress")
        assert traced.of("ben")["state"] == "not_handled"
        behind, partition = traced.trace["published"]["behind"], traced.trace["published"]["partition"]
        assert behind >= 1
        why = f"delivery is {behind} events behind on partition {partition}"
        assert why in traced.trace["verdict"]
        assert why in traced.of("ben")["verdict"]
        assert traced.trace["handled"]["is_handled"] is False
        installation.ready("delivery")
        traced = await until_traced(installation, chat, sent, state_of("ben", "waiting"))
        assert traced.trace["handled"]["is_handled"] is True


@pytest.mark.long
async def test_the_message_is_not_published(installation: InstallationProcesses) -> None:
    """The process died directly after the commit, and no relay runs."""
    installation.ready("delivery")
    chat = await installation.direct("anna", "ben")
    async with installation.use_cases() as use_cases:
        sent = (await use_cases.send(ChatKey(chat.tenant, ChatId(chat.chat)), UserId("anna"))).sequence
    traced = await trace(installation, chat.chat, sent)
    assert traced.exit_code == 3
    assert "it was not published" in traced.trace["verdict"]
    installation.ready("relay")
    await until_traced(installation, chat.chat, sent, state_of("ben", "waiting"))


async def test_a_gateway_was_killed(installation: InstallationProcesses) -> None:
    """Its routes exist until their leases expire. The next message finds no subscriber and is queued."""
    one, two, _ = installation.ready("gateway", "gateway", "delivery")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, one.socket_port, "anna") as (anna,):
        async with connected(installation, two.socket_port, "ben", device="deaf"):
            sent = (await anna.client.chat(chat).send("hello")).sequence
            await until_traced(installation, chat, sent, state_of("ben", "not_acked"))
            two.popen.kill()
            traced = await until_traced(installation, chat, sent, state_of("ben", "stale_route"))
        assert traced.exit_code == 3
        assert "which is not running" in traced.of("ben")["verdict"]
        assert [each["is_gateway_there"] for each in traced.of("ben")["devices"]] == [False]
        later = (await anna.client.chat(chat).send("and now?")).sequence
        traced = await until_traced(installation, chat, later, state_of("ben", "waiting"))
        assert (traced.exit_code, traced.of("ben")["devices"]) == (0, [])
        first = await trace(installation, chat, sent)
        assert first.of("ben")["state"] == "offline"


async def test_redis_was_emptied(installation: InstallationProcesses) -> None:
    """Facts from rows and watermarks stay known. Facts that were only in Redis are reported as no longer known."""
    gateway, worker = installation.ready("gateway", "delivery")
    chat = (await installation.direct("anna", "ben")).chat
    async with (
        watching(installation, gateway.socket_port, "anna") as (anna,),
        watching(installation, gateway.socket_port, "ben"),
    ):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        await until_traced(installation, chat, sent, state_of("ben", "delivered"))
    worker.popen.terminate()
    assert worker.exit_code() == 0
    installation.flush_redis()
    traced = await trace(installation, chat, sent)
    assert (traced.exit_code, traced.outcome) == (0, "arrived")
    assert traced.trace["handled"]["is_handled"] is None
    assert traced.trace["handled"]["verdict"].startswith("no longer known")
    assert traced.of("ben")["state"] == "delivered"


@pytest.mark.long
async def test_redis_and_kafka_are_unavailable(installation: InstallationProcesses) -> None:
    gateway, _ = installation.ready("gateway", "delivery")
    chat = (await installation.direct("anna", "ben")).chat
    async with watching(installation, gateway.socket_port, "anna") as (anna,):
        sent = (await anna.client.chat(chat).send("hello")).sequence
        await until_traced(installation, chat, sent, state_of("ben", "waiting"))
    traced = await trace(
        installation, chat, sent, REDIS_URL=f"redis://{_CLOSED_PORT}", KAFKA_BOOTSTRAP_SERVERS=_CLOSED_PORT
    )
    assert (traced.exit_code, traced.outcome) == (4, "unknown")
    assert traced.of("ben")["state"] == "unknown"
    assert "it waits in the offline queue" in traced.of("ben")["verdict"]
    assert traced.trace["published"]["verdict"].startswith("not known: Kafka")
