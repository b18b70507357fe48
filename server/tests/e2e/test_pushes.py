"""Messages from device to device through real processes: gateways, Kafka, the delivery worker, Redis, the SDK."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fixtures.gateway_process import GatewayProcess, RunningGateway, gateway_process_in
from fixtures.loops import until
from fixtures.tables import Tables
from fixtures.topics import make_topics

from tidings.app.wiring.chats import build_chat_row_reader
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings_sdk import Client, FileStore, MessageAdded, MessageChanged
from tidings_sdk.session import Timeouts

WITHIN_S = 150.0
ALL_S = 240.0
QUICK = Timeouts(backoff_first_s=0.05, backoff_longest_s=0.5)


@pytest.fixture
def installed(tables_local: Tables, valkey: str, kafka: str, tmp_path: Path) -> Iterator[GatewayProcess]:
    with gateway_process_in(tables_local, valkey, tmp_path) as env:
        env.kafka = kafka
        make_topics(kafka, env.space)
        yield env


class Reader:
    """An app that reads the events of the SDK one by one."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.texts: list[str] = []
        self.changes: list[str] = []

    async def run(self) -> None:
        async for event in self.client.events():
            if isinstance(event, MessageAdded):
                self.texts.append(event.entry.text)
            elif isinstance(event, MessageChanged) and event.entry.changed is not None:
                self.changes.append(event.entry.changed.text)


@asynccontextmanager
async def app(env: GatewayProcess, gateway: RunningGateway, user: str, store: Path) -> AsyncIterator[Reader]:
    url = f"ws://127.0.0.1:{gateway.socket_port}/v1/socket"
    async with Client(
        url,
        env.token(user),
        device=f"{user}-{store.name}",
        store=FileStore(store),
        proxy=None,
        patience=QUICK,
    ) as client:
        reader = Reader(client)
        reading = asyncio.create_task(reader.run())
        try:
            yield reader
        finally:
            reading.cancel()


async def acked(env: GatewayProcess, user: str, chat: ChatKey) -> int:
    async with env.use_cases() as use_cases:
        rows = await build_chat_row_reader(use_cases.client).rows(TenantId(env.space.tenant), UserId(user))
    row = next(row for row in rows if row.chat == chat.chat)
    return row.delivered.sequence if row.delivered else 0


def test_messages_arrive_although_processes_are_killed_and_restarted(
    installed: GatewayProcess, tmp_path: Path
) -> None:
    asyncio.run(asyncio.wait_for(conversation(installed, tmp_path), ALL_S))


async def conversation(env: GatewayProcess, tmp_path: Path) -> None:
    await env.create_tenant()
    chat = await env.direct("anna", "ben")
    env.deliver()
    one, two = env.start(), env.start(TIDINGS_GATEWAY_ACK_FLUSH_S="0.05")
    texts = [f"m{n}" for n in range(20)]
    async with app(env, one, "anna", tmp_path / "a") as anna:
        talk = anna.client.chat(chat.chat)
        async with app(env, two, "ben", tmp_path / "b") as ben:
            sent = [await talk.send(text) for text in texts[:5]]
            await until(lambda: ben.texts == texts[:5], WITHIN_S)
            await talk.edit(sent[-1].sequence, "other words")
            await until(lambda: ben.changes == ["other words"], WITHIN_S)
            two.popen.kill()
            for text in texts[5:10]:
                await talk.send(text)
            three = env.start(TIDINGS_GATEWAY_PORT=str(two.socket_port), TIDINGS_GATEWAY_ACK_FLUSH_S="0.05")
            await until(lambda: ben.texts == texts[:10], WITHIN_S)
        for text in texts[10:15]:
            await talk.send(text)
        async with app(env, three, "ben", tmp_path / "b") as ben:
            await until(lambda: ben.texts[-5:] == texts[10:15], WITHIN_S)
            last = [await talk.send(text) for text in texts[15:]][-1].sequence
            await until(lambda: ben.texts[-10:] == texts[10:], WITHIN_S)
            assert len(ben.texts) == len(set(ben.texts))
            async with asyncio.timeout(WITHIN_S):
                while await acked(env, "ben", chat) < last:  # noqa: ASYNC110 - DynamoDB has no event to wait for
                    await asyncio.sleep(0.05)
        await until(lambda: anna.texts == texts, WITHIN_S)
