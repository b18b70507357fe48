"""The outbox with a network that fails by a script: nothing is duplicated, lost or reordered."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import pytest
from clients import client_of
from fixtures.loops import run, until
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scripted_server import FAULTS, Frame, ScriptedServer, error

from tidings_sdk import Client, MemoryStore, MessageSent, SendFailed

CHATS = ("g1", "g2")
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing script takes seconds, and is short enough to read without shrinking."""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
@given(
    script=st.lists(st.sampled_from(FAULTS), max_size=14),
    chats=st.lists(st.sampled_from(CHATS), min_size=1, max_size=6),
    pushing=st.sampled_from(("with pushes", "without pushes")),
)
def test_each_message_is_in_the_log_once_and_in_order_despite_network_faults(
    script: list[str], chats: list[str], pushing: str
) -> None:
    run(_storm(script, chats, is_pushing=pushing == "with pushes"))


async def _storm(script: list[str], chats: list[str], *, is_pushing: bool) -> None:
    store = MemoryStore()
    async with ScriptedServer(script, is_pushing=is_pushing, watch=_is_stored_in(store)) as server:
        server.add("g1")
        async with client_of(server, store=store, answer_within_s=0.2) as client:
            sendings = [client.chat(chat).send(f"m{number}") for number, chat in enumerate(chats)]
            async with asyncio.timeout(10):
                sent = [await sending for sending in sendings]
        await until(lambda: not server.sockets)
        for one in sent:
            assert server.keys(one.chat)[one.sequence - 1] == one.client_message_id
        _is_there_once_and_in_order(server, chats)
        assert store.load().rows == []
        _same_in_every_try(server, may_rise="catch up" in script)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
@given(
    script=st.lists(st.sampled_from(FAULTS), max_size=14),
    chats=st.lists(st.sampled_from(CHATS), min_size=1, max_size=6),
    deaths=st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_the_next_client_continues_after_any_end_of_the_last_one(
    script: list[str], chats: list[str], deaths: list[int]
) -> None:
    run(_died(script, chats, deaths))


async def _died(script: list[str], chats: list[str], deaths: list[int]) -> None:
    """End each client after a number of requests, given by `deaths`."""
    store = MemoryStore()
    async with ScriptedServer(script, watch=_is_stored_in(store)) as server:
        async with client_of(server, store=store) as client:
            _ = [client.chat(chat).send(f"m{number}") for number, chat in enumerate(chats)]
        for more in deaths:
            until_seen = len(server.seen) + more
            async with client_of(server, store=store, answer_within_s=0.2) as client:
                await until(partial(_has_seen_or_done, server, client, until_seen))
        async with client_of(server, store=store, answer_within_s=0.2) as client, asyncio.timeout(10):
            await client.flush()
        _is_there_once_and_in_order(server, chats)
        _same_in_every_try(server, may_rise="catch up" in script)


def _has_seen_or_done(server: ScriptedServer, client: Client, count: int) -> bool:
    return len(server.seen) >= count or not client.pending


def _is_stored_in(store: MemoryStore) -> Callable[[str, Frame], None]:
    """When a message first arrives at the server, the store has its row with the same `after`."""
    known: set[str] = set()

    def watch(kind: str, body: Frame) -> None:
        if kind == "send" and body["client_message_id"] not in known:
            known.add(body["client_message_id"])
            rows = {row.key: row.request.after for row in store.load().rows}
            assert rows[body["client_message_id"]] == body["after"], "tried before it was stored"

    return watch


def _is_there_once_and_in_order(server: ScriptedServer, chats: list[str]) -> None:
    for chat in CHATS:
        mine = [entry["text"] for entry in server.logs[chat] if entry["by"] == "anna"]
        assert mine == [f"m{number}" for number, at in enumerate(chats) if at == chat]


def _same_in_every_try(server: ScriptedServer, *, may_rise: bool) -> None:
    tries = defaultdict(list)
    for one in server.tries():
        tries[one["client_message_id"]].append(one)
    for of_one in tries.values():
        assert len({one["text"] for one in of_one}) == 1
        afters = [one["after"] for one in of_one]
        assert afters == sorted(afters) if may_rise else len(set(afters)) == 1


async def test_a_message_is_pending_at_once_and_acknowledged_with_its_sequence() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        sending = client.chat("g1").send("hi")
        assert not sending.is_done
        assert client.pending == 1
        assert await sending == MessageSent("g1", sending.client_message_id, 1)
        assert client.pending == 0


async def test_without_faults_each_message_is_sent_once_and_chats_are_independent() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        sendings = [client.chat(f"g{n % 3}").send(f"m{n}") for n in range(30)]
        assert [(await sending).sequence for sending in sendings] == [n // 3 + 1 for n in range(30)]
        assert len(server.tries()) == 30


async def test_after_a_rejoin_the_first_send_is_refused_and_the_next_succeeds() -> None:
    """A membership is valid only if its join is at or before `after`, so `after` must be raised after a rejoin."""
    async with ScriptedServer() as server, client_of(server) as client:
        chat = client.chat("g1")
        assert (await chat.send("before")).sequence == 1
        server.add("g1", kind="leave", users=["anna"])
        server.add("g1", kind="join", users=["anna"])
        server.answers["send"] = lambda body: (
            error("not_a_member") if body["after"] < 3 else {"ok": {"sequence": 4}}
        )
        with pytest.raises(SendFailed):
            await chat.send("from before")
        assert (await chat.send("anew")).sequence == 4
