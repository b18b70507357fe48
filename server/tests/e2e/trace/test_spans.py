"""One distributed trace of a message, from the sender's socket to the recipient's, over real processes and engines."""

import asyncio
from collections.abc import Iterator

import pytest
from contract.telemetry.otlp import Received, Receiver
from e2e.delivery.connected_device import watching
from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until

STEPS = ("send", "append", "publish", "deliver", "push")
PARENTS = {"append": "send", "publish": "send", "deliver": "publish", "push": "deliver"}
SERVICES = {"deliver": "tidings-delivery"}


@pytest.fixture
def collector() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def traces_of(collector: Receiver) -> list[dict[str, Received]]:
    """Return the spans of each trace by name."""
    found: dict[bytes, dict[str, Received]] = {}
    for span in collector.spans:
        found.setdefault(span.trace_id, {})[span.name] = span
    return list(found.values())


async def test_a_message_is_one_trace_from_socket_to_socket(
    installation: InstallationProcesses, collector: Receiver
) -> None:
    traced = {"TELEMETRY_OTLP_ENDPOINT": collector.endpoint, "TELEMETRY_TRACE_RATIO": "1"}
    one, two, _ = installation.ready("gateway", "gateway", "delivery", **traced)
    chat = (await installation.direct("anna", "ben")).chat
    async with (
        watching(installation, one.socket_port, "anna") as (anna,),
        watching(installation, two.socket_port, "ben") as (ben,),
    ):
        # Several at once are one batch of the group commit: each still has its own trace.
        await asyncio.gather(*(anna.client.chat(chat).send(f"hello {n}") for n in range(4)))
        await until(lambda: len(ben.texts(chat)) == 4, 60)
        await until(lambda: sum(set(STEPS) <= set(each) for each in traces_of(collector)) == 4, 60)
    complete = [each for each in traces_of(collector) if set(STEPS) <= set(each)]
    for spans in complete:
        assert spans["send"].parent_id == b""
        for child, parent in PARENTS.items():
            assert spans[child].parent_id == spans[parent].span_id, (child, parent)
        assert {name: spans[name].service for name in STEPS} == {
            name: SERVICES.get(name, "tidings-gateway") for name in STEPS
        }


async def test_without_a_collector_no_record_and_no_push_carries_a_trace(
    installation: InstallationProcesses, collector: Receiver
) -> None:
    """The sender's gateway exports nothing, so the processes after it have nothing to continue."""
    [silent] = installation.ready("gateway")
    installation.ready("delivery", TELEMETRY_OTLP_ENDPOINT=collector.endpoint, TELEMETRY_TRACE_RATIO="1")
    chat = (await installation.direct("anna", "ben")).chat
    async with (
        watching(installation, silent.socket_port, "anna") as (anna,),
        watching(installation, silent.socket_port, "ben") as (ben,),
    ):
        await anna.client.chat(chat).send("hello")
        await until(lambda: len(ben.texts(chat)) == 1, 60)
    installation.stop()  # sends what still waits
    assert collector.spans == []
