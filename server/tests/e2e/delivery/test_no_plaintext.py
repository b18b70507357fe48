"""No text of a message is in Kafka's topics, in commands to Redis or in the logs of a running installation."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from contract.kafka.harness import read_log
from e2e.delivery.connected_device import Names, watching
from fixtures.installation_processes import InstallationProcesses, RunningInstallation
from fixtures.loops import eventually
from fixtures.plaintext import WORDS, found_in

from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics.model import TOPICS


@asynccontextmanager
async def recorded_commands(redis_url: str) -> AsyncIterator[bytearray]:
    """Record every command that Redis executes, including messages that are published."""
    host, _, port = redis_url.rpartition("/")[2].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    recorded = bytearray()

    async def record() -> None:
        while part := await reader.read(65_536):
            recorded.extend(part)

    writer.write(b"MONITOR\r\n")
    assert await reader.readline() == b"+OK\r\n"
    recording = asyncio.create_task(record())
    try:
        yield recorded
    finally:
        recording.cancel()
        with suppress(asyncio.CancelledError):
            await recording
        writer.close()


def published(installation: InstallationProcesses) -> bytes:
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    logs = (read_log(config, topic.name) for topic in TOPICS)
    return b"".join(value for log in logs for values in log.values() for value in values)


def logged(installation: InstallationProcesses) -> bytes:
    lines = (json.dumps(line) for process in installation.started for line in process.lines)
    errors = (process.stderr for process in installation.started)
    return "\n".join([*lines, *errors]).encode()


async def talk(running: RunningInstallation, names: Names, text: str) -> bytes:
    """Send, edit and reply to connected and offline users. Return the id of the chat."""
    installation, (one, two) = running.processes, running.ports
    chat = await installation.group(names.anna, names.ben, names.cleo)
    direct = (await installation.direct(names.anna, names.cleo)).chat
    async with (
        watching(installation, one, names.anna) as (anna,),
        watching(installation, two, names.ben) as (ben,),
    ):
        sent = await anna.client.chat(chat).send(text)
        await anna.client.chat(chat).edit(sent.sequence, f"{text}, edited")
        await anna.client.chat(chat).send(text, ttl_seconds=3600)
        await anna.client.chat(chat).send(text, reply_to=sent.sequence, data={"again": text})
        await ben.holds(chat, range(1, sent.sequence + 4))
        await anna.client.chat(direct).send(text)
        await eventually(lambda: _assert_queued(installation, names.cleo), AssertionError)
    return chat.encode()


async def _assert_queued(installation: InstallationProcesses, user: str) -> None:
    assert await installation.pending(user)


async def test_no_text_of_a_message_is_in_kafka_redis_or_the_logs(
    running_installation: RunningInstallation, names: Names
) -> None:
    installation = running_installation.processes
    async with recorded_commands(installation.redis_url) as commands:
        chat = await talk(running_installation, names, WORDS)
    topics = await asyncio.to_thread(published, installation)
    for name, place in (("Kafka", topics), ("Redis", bytes(commands))):
        assert chat in place, f"the search looks at the bytes of this chat in {name}"
        assert found_in(place) == set(), name
    assert found_in(logged(installation)) == set()


@pytest.mark.long
async def test_the_search_finds_the_text_with_encryption_off(
    installation: InstallationProcesses, names: Names
) -> None:
    """A mutant: without encryption, the same search finds the text in Kafka."""
    off = {"ENCRYPTION_MODE": "off"}
    one, two, worker, _ = installation.ready("gateway", "gateway", "delivery", "relay", **off)
    await talk(RunningInstallation(installation, (one, two), worker), names, WORDS)
    assert found_in(await asyncio.to_thread(published, installation))
