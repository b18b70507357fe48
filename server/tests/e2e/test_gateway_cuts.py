"""Two gateways behind proxies that cut connections: a client that reuses its keys loses and duplicates nothing."""

import asyncio
from itertools import cycle
from typing import Any

from faults.proxy import Direction, Freeze, TcpProxy
from fixtures.connection_cutter import connection_cutter, cut_before
from fixtures.gateway_process import GatewayProcess, SocketDevice
from fixtures.loops import until
from websockets.exceptions import ConnectionClosed, InvalidHandshake

MESSAGES = 40
_LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError)


class Sender:
    """A client that repeats a message with the same key and `after`, at the next gateway if its connection is cut."""

    def __init__(self, env: GatewayProcess, user: str, ports: list[int]) -> None:
        self._env, self._user, self._ports = env, user, cycle(ports)
        self._device: SocketDevice | None = None
        self._held = 1
        self.tries = self.repeats = 0

    async def send(self, chat: str, key: str) -> int:
        message = {"chat": chat, "client_message_id": key, "after": self._held, "text": key}
        while True:
            answer = await self._asked_until_heard("send", **message)
            if "sequence" in answer:
                self.repeats += answer.get("is_repeat", False)
                self._held = answer["sequence"]
                return self._held
            assert answer["retryable"], answer

    async def _asked_until_heard(self, kind: str, **body: object) -> dict[str, Any]:
        while True:
            self.tries += kind == "send"
            try:
                return await (await self._connected()).ask(kind, **body)
            except _LOST:
                self._device = None

    async def _connected(self) -> SocketDevice:
        if self._device is None:
            device = await SocketDevice.open(next(self._ports))
            assert "user" in await device.connect(self._env.token(self._user), device=self._user)
            self._device = device
        return self._device

    async def history(self, chat: str) -> list[dict[str, object]]:
        page = await self._asked_until_heard("history", chat=chat, after=0, limit=200)
        entries = [entry for entry in page["entries"] if entry.get("kind") is None]
        return sorted(entries, key=lambda entry: int(entry["sequence"]))

    async def close(self) -> None:
        if self._device is not None:
            await self._device.close()


async def test_repeated_disconnects_lose_and_duplicate_nothing(env: GatewayProcess) -> None:
    await env.create_tenant()
    one, two = env.start(), env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY="websockets")
    chat = (await env.direct("anna", "ben")).chat
    with TcpProxy("127.0.0.1", one.socket_port) as first, TcpProxy("127.0.0.1", two.socket_port) as second:
        anna = Sender(env, "anna", [first.port, second.port])
        ben = Sender(env, "ben", [second.port, first.port])
        async with connection_cutter(first, second) as cuts:
            await asyncio.gather(_all(anna, chat, "a", cuts), _all(ben, chat, "b", cuts))
        seen = [await sender.history(chat) for sender in (anna, ben)]
        await asyncio.gather(anna.close(), ben.close())
    for entries in seen:
        texts = [str(entry["text"]) for entry in entries]
        assert [text for text in texts if text[0] == "a"] == [f"a-{n:03}" for n in range(MESSAGES)]
        assert [text for text in texts if text[0] == "b"] == [f"b-{n:03}" for n in range(MESSAGES)]
    assert sum(cuts) > 3, "the proxies cut nobody: nothing was tried"
    assert anna.tries + ben.tries > 2 * MESSAGES
    assert one.faults() + two.faults() == []


async def _all(sender: Sender, chat: str, name: str, cuts: list[int]) -> None:
    for n in range(MESSAGES):
        await cut_before(n, cuts)
        await sender.send(chat, f"{name}-{n:03}")


async def test_repeating_a_send_with_a_lost_answer_at_another_gateway_returns_its_result(
    env: GatewayProcess,
) -> None:
    await env.create_tenant()
    one, two = env.start(), env.start()
    chat = (await env.direct("anna", "ben")).chat
    with TcpProxy("127.0.0.1", one.socket_port) as proxy:
        anna = Sender(env, "anna", [proxy.port, two.socket_port])
        assert await anna.send(chat, "before") == 2
        with proxy.fault(Freeze(Direction.TO_CLIENT)):
            sending = asyncio.create_task(anna.send(chat, "lost"))
            await until(lambda: one.metric('socket_requests_total{kind="send",outcome="ok"}') == 2)
            proxy.cut()
            assert await sending == 3
        assert (anna.repeats, anna.tries) == (1, 3)
        assert [entry["text"] for entry in await anna.history(chat)] == ["before", "lost"]
        await anna.close()
