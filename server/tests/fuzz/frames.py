"""Pass mutated frames through the codec and the connection's state machine.

Each is answered, or closes the connection with a documented code. No call raises, and memory does not grow.
"""

import argparse
import gc
import json
import sys
import time
from collections import Counter
from random import Random

import msgspec
from unit.gateway.protocol_env import RESUMED, WELCOME

from fuzz.mutation import mutated
from tidings.gateway.error_frames import make_error_body
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    CloseConnection,
    ConnectionLimits,
    ConnectionState,
    Effect,
    HandleRequest,
    WriteFrame,
)
from tidings.kernel.errors import Code
from tidings_wire.close_codes import CloseCode
from tidings_wire.codec import encode_response
from tidings_wire.frames.session import Connect, Resume
from tidings_wire.frames.structs import Ok

STRICT, PATIENT = ConnectionLimits(), ConnectionLimits(faults=200, fault_every_s=0.05)
FRAMES_PER_S = 40
MAX_WRITTEN_BYTES = 1024


class Fuzz:
    """Connections one after the other, each until it is closed."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)
        self._now = 0.0
        self._connection = self._fresh()
        self.seen: Counter[str] = Counter()

    def step(self) -> None:
        self._now += 1 / FRAMES_PER_S
        frame = mutated(self._chance)
        try:
            self._take(self._connection.received(frame, self._now))
            self._take(self._connection.on_timer(self._now))
        except Exception as error:
            error.add_note(f"the frame was {frame[:400]!r}")
            raise
        if self._connection.state is ConnectionState.CLOSED:
            self._connection = self._fresh()

    def _fresh(self) -> ConnectionProtocol:
        """Return a new connection. Most are authenticated first, because a mutated `connect` rarely succeeds."""
        made = ConnectionProtocol(self._chance.choice((STRICT, PATIENT)), self._now, self._chance.random)
        if self._chance.random() < 0.7:
            made.received(b'{"id":1,"connect":{"credential":"c","protocol":1}}', self._now)
            made.answered(1, WELCOME, self._now)
            made.answered(2, RESUMED, self._now)
        return made

    def _take(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case WriteFrame(data):
                    self._written(data)
                case CloseConnection(code, reason):
                    assert self._connection.state is ConnectionState.CLOSED
                    assert len(reason.encode()) <= 123
                    self.seen[f"close {CloseCode(code).name.lower()}"] += 1
                case HandleRequest():
                    self._called(effect)
        assert self._connection.in_flight <= STRICT.in_flight

    def _written(self, data: bytes) -> None:
        assert len(data) <= MAX_WRITTEN_BYTES
        frame = msgspec.json.decode(data)
        kind = next(name for name in frame if name != "id")
        self.seen[frame[kind]["code"] if kind == "error" else kind] += 1

    def _called(self, call: HandleRequest) -> None:
        """Answer a request, sometimes not at all. A decoded request can be encoded again."""
        self.seen["call"] += 1
        encode_response(1, call.request)
        if self._chance.random() < 0.95:
            self._take(self._connection.answered(call.number, self._answer(call), self._now))

    def _answer(self, call: HandleRequest) -> msgspec.Struct:
        if self._chance.random() < 0.1:
            return make_error_body(Code.OVERLOADED, "no")
        if isinstance(call.request, Connect):
            return WELCOME
        return RESUMED if isinstance(call.request, Resume) else Ok()


def run(count: int, seed: int) -> Counter[str]:
    fuzz = Fuzz(seed)
    for _ in range(count):
        fuzz.step()
    return fuzz.seen


def blocks() -> int:
    """Return the number of allocated memory blocks after garbage collection."""
    gc.collect()
    return sys.getallocatedblocks()


def main() -> None:
    parser = argparse.ArgumentParser(prog="just fuzz frames", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began_s = time.process_time()
    seen, held = run(options.count // 2, options.seed), blocks()
    seen += run(options.count - options.count // 2, options.seed + 1)
    took_s = time.process_time() - began_s
    for name, times in seen.most_common():
        print(f"{name:28} {times:>9,}")
    figures = {"frames": options.count, "cpu_s": round(took_s, 1), "grown_blocks": blocks() - held}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
