"""Send mutated frames over real sockets to a running gateway.

Each is answered, or the connection is closed with a documented code. The gateway logs no error and does not grow.
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import msgspec
import psutil
from contract.gateway.raw_client import CLOSE, RawClient
from fixtures.gateway_process import GatewayProcess, RunningGateway
from fixtures.installation import installation
from load.connecting_devices import connect_frame, text

from fuzz.mutation import mutated
from tidings.gateway.transport.ports import SocketCloseCode as SocketCode
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.registry import PUSH_OF

AT_ONCE = 24
IN_A_WRITE = 12
_REDRAWN = 0.95
LAST_ID = 2**53 - 1
_ASK_LAST = text(b'{"id":%d,"ping":{}}' % LAST_ID)
_KNOWN = {int(code): code.name.lower() for code in (*CloseCode, SocketCode.INVALID_TEXT, SocketCode.TOO_BIG)}
_ENDED = (ConnectionError, asyncio.IncompleteReadError)


def start(env: GatewayProcess, library: str) -> RunningGateway:
    """Start a gateway. The user's rate limit bounds the load on the engines; frames over it are answered too."""
    return env.start(
        TIDINGS_GATEWAY_SOCKET_LIBRARY=library,
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S="100000",
        TIDINGS_GATEWAY_CONNECT_BURST="100000",
        TIDINGS_LIMITS_USER_RATE="200/s",
        TIDINGS_LIMITS_USER_BURST="200",
        TIDINGS_LIMITS_TENANT_RATE="100000/s",
        TIDINGS_LIMITS_TENANT_BURST="100000",
    )


class Fuzz:
    """Concurrent devices. Each sends until its connection is closed, and then reconnects."""

    def __init__(self, port: int, token: str, seed: int) -> None:
        self._port = port
        self._token = token
        self._chance = Random(seed)
        self.sent = 0
        self.seen: Counter[str] = Counter()

    async def run(self, count: int) -> None:
        wanted = self.sent + count
        await asyncio.gather(*(self._devices(wanted, f"d-{n}") for n in range(AT_ONCE)))

    async def _devices(self, wanted: int, name: str) -> None:
        while self.sent < wanted:
            async with await RawClient.open(self._port) as client:
                try:
                    if self._chance.random() < 0.9:
                        await self._connect(client, name)
                    while self.sent < wanted and await self._exchange(client):
                        pass
                except _ENDED:
                    self.seen["reset"] += 1

    async def _connect(self, client: RawClient, name: str) -> None:
        client.send(connect_frame(self._token, name))
        while self._take(msgspec.json.decode((await client.frame()).payload)) != 1:
            pass

    async def _exchange(self, client: RawClient) -> bool:
        """Send some frames and a last one that must be answered, unless the connection closes.

        Return whether it is open.
        """
        client.send(b"".join(self._frames()) + _ASK_LAST)
        while True:
            got = await client.frame()
            if got.opcode == CLOSE:
                self.seen[f"close {_KNOWN[got.code]}"] += 1
                return False
            if self._take(msgspec.json.decode(got.payload)) == LAST_ID:
                return True

    def _frames(self) -> Iterator[bytes]:
        for _ in range(IN_A_WRITE):
            self.sent += 1
            yield text(self._mutated())

    def _mutated(self) -> bytes:
        """Return a mutated frame, rarely one that is not UTF-8: it closes the socket, so later frames are not tested."""
        frame = mutated(self._chance)
        while not _is_text(frame) and self._chance.random() < _REDRAWN:
            frame = mutated(self._chance)
        return frame

    def _take(self, frame: dict[str, dict[str, object]]) -> object:
        kind = next(name for name in frame if name != "id")
        assert kind in {"ok", "error"} or kind in PUSH_OF, frame
        self.seen[str(frame[kind]["code"]) if kind == "error" else kind] += 1
        return frame.get("id")


def _is_text(frame: bytes) -> bool:
    try:
        frame.decode()
    except UnicodeDecodeError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="just fuzz live", description=__doc__)
    parser.add_argument(
        "--count", type=int, default=1_000_000, help="Number of frames that the gateway receives."
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", default="picows", choices=["picows", "websockets"])
    parser.add_argument("--minutes", type=float, default=10.0, help="Stop after this time.")
    given = parser.parse_args()
    with installation() as env:
        gateway = start(env, given.library)
        fuzz = Fuzz(gateway.socket_port, env.token("anna"), given.seed)
        print(json.dumps({"library": given.library, **asyncio.run(_measured(gateway, fuzz, given))}))
        for name, times in fuzz.seen.most_common():
            print(f"{name:28} {times:>9,}")


async def _measured(gateway: RunningGateway, fuzz: Fuzz, given: argparse.Namespace) -> dict[str, float]:
    process, ends_at = psutil.Process(gateway.popen.pid), time.monotonic() + given.minutes * 60
    await fuzz.run(given.count // 10)
    warm_kb = process.memory_info().rss / 1_024
    while taken(gateway) < given.count and time.monotonic() < ends_at:
        await fuzz.run(50_000)
        figures = {
            "frames_taken_in": taken(gateway),
            "grown_kb": round(process.memory_info().rss / 1_024 - warm_kb),
        }
        print(json.dumps(figures), flush=True)
    return {
        "frames_sent": fuzz.sent,
        "frames_taken_in": taken(gateway),
        "grown_kb": round(process.memory_info().rss / 1_024 - warm_kb),
        "logged_errors": len(gateway.faults()),
        "gateway_cpu_s": round(sum(process.cpu_times()[:2]), 1),
    }


def taken(gateway: RunningGateway) -> float:
    """Return the number of frames that the gateway received, which excludes frames sent after a close."""
    return gateway.metric('socket_frames_total{direction="in"}')


if __name__ == "__main__":
    main()
