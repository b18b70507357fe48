"""The outbox over a network that fails by a script: nothing twice, nothing lost, the order kept."""

import asyncio
from collections import defaultdict

from clients import client_of
from fixtures.loops import run, until
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scripted_server import FAULTS, ScriptedServer

from tidings_sdk import MemoryStore, Sent

CHATS = ("g1", "g2")
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A script that fails takes seconds; it is short enough to read as it is."""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
@given(
    script=st.lists(st.sampled_from(FAULTS), max_size=14),
    chats=st.lists(st.sampled_from(CHATS), min_size=1, max_size=6),
    pushing=st.sampled_from(("with pushes", "without pushes")),
)
def test_whatever_the_network_does_each_message_is_in_the_log_once_and_in_order(
    script: list[str], chats: list[str], pushing: str
) -> None:
    run(_storm(script, chats, is_pushing=pushing == "with pushes"))


async def _storm(script: list[str], chats: list[str], *, is_pushing: bool) -> None:
    store = MemoryStore()
    async with ScriptedServer(script, is_pushing=is_pushing) as server:
        server.add("g1")
        async with client_of(server, store=store, answer_within_s=0.2) as client:
            sendings = [client.chat(chat).send(f"m{number}") for number, chat in enumerate(chats)]
            async with asyncio.timeout(10):
                sent = [await sending for sending in sendings]
        await until(lambda: not server.sockets)
        for one in sent:
            assert server.keys(one.chat)[one.sequence - 1] == one.client_message_id
        for chat in CHATS:
            mine = [entry["text"] for entry in server.logs[chat] if entry["by"] == "anna"]
            assert mine == [f"m{number}" for number, at in enumerate(chats) if at == chat]
        assert store.load().rows == []
        _same_in_every_try(server, may_rise="catch up" in script)


def _same_in_every_try(server: ScriptedServer, *, may_rise: bool) -> None:
    tries = defaultdict(list)
    for one in server.tries():
        tries[one["client_message_id"]].append(one)
    for of_one in tries.values():
        assert len({one["text"] for one in of_one}) == 1
        afters = [one["after"] for one in of_one]
        assert afters == sorted(afters) if may_rise else len(set(afters)) == 1


async def test_a_message_is_there_at_once_and_acknowledged_with_its_sequence() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        sending = client.chat("g1").send("hi")
        assert not sending.is_settled
        assert client.pending == 1
        assert await sending == Sent("g1", sending.client_message_id, 1)
        assert client.pending == 0
