"""Order, bounds, deadlines and cuts of a connection's commands, without a connection."""

import asyncio
import time
from itertools import pairwise
from math import inf
from typing import Any, cast

import pytest
from fixtures.loops import run, until
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.platform.redis.errors import (
    Address,
    MovedRedirectError,
    OutcomeUnknownError,
    OverloadedError,
    ServerError,
    UnreachableError,
)
from tidings.platform.redis.pipeline import Pipeline, ProtocolError, Reply, pack_command, reply_reader

HERE = Address("somewhere", 6379)


class Wire:
    """Record written bytes, and feed the bytes that the test chooses as answers."""

    def __init__(self, max_commands: int = 1000, max_bytes: int = 10**6) -> None:
        self.writes: list[bytes] = []
        self.pushes: list[list[bytes]] = []
        self.pipeline = Pipeline(HERE, max_commands, max_bytes, self.pushes.append)

    def open(self) -> "Wire":
        self.pipeline.open(cast("Any", self))
        return self

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def submit(self, *words: str, deadline: float = inf) -> asyncio.Future[Reply]:
        return self.pipeline.submit(pack_command(*words), deadline)


async def a_turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_commands_submitted_in_one_turn_are_one_write() -> None:
    wire = Wire().open()
    for name in "abc":
        _ = wire.submit("GET", name)
    assert wire.writes == []
    await a_turn()
    assert wire.writes == [b"".join(pack_command("GET", name) for name in "abc")]
    _ = wire.submit("GET", "d")
    await a_turn()
    assert len(wire.writes) == 2


async def test_answers_go_to_their_callers_in_order() -> None:
    wire = Wire().open()
    futures = [wire.submit("GET", name) for name in "abcd"]
    await a_turn()
    wire.pipeline.feed(b"$1\r\nA\r\n_\r\n-WRONGTYPE no\r\n:4\r\n")
    assert futures[0].result() == b"A"
    assert futures[1].result() is None
    assert isinstance(futures[2].exception(), ServerError)
    assert futures[3].result() == 4
    assert wire.pipeline.in_flight == 0


async def test_a_cancelled_call_keeps_its_place_until_its_answer_arrives() -> None:
    wire = Wire().open()
    futures = [wire.submit("GET", name) for name in "abc"]
    await a_turn()
    futures[0].cancel()
    futures[1].cancel()
    wire.pipeline.feed(b":1\r\n-ERR two\r\n:3\r\n")
    assert futures[2].result() == 3


async def test_a_call_cancelled_before_the_write_is_not_written() -> None:
    wire = Wire().open()
    first, second = wire.submit("DEL", "a"), wire.submit("GET", "b")
    first.cancel()
    await a_turn()
    assert wire.writes == [pack_command("GET", "b")]
    wire.pipeline.feed(b":2\r\n")
    assert second.result() == 2
    assert wire.pipeline._bytes == 0


async def test_a_push_is_not_taken_for_an_answer() -> None:
    wire = Wire().open()
    future = wire.submit("GET", "a")
    await a_turn()
    wire.pipeline.feed(b">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n:1\r\n")
    assert wire.pushes == [[b"smessage", b"c", b"hi"]]
    assert future.result() == 1


async def test_a_push_that_answers_takes_its_turn() -> None:
    wire = Wire().open()
    first, second = wire.submit("SSUBSCRIBE", "c"), wire.submit("GET", "a")
    await a_turn()
    assert wire.pipeline.answer_by_push([b"ssubscribe", b"c"]) is first
    wire.pipeline.feed(b":1\r\n")
    assert second.result() == 1


@pytest.mark.parametrize("where", [b":7001", b"?:7001"])
async def test_a_redirection_without_a_host_means_the_host_that_was_asked(where: bytes) -> None:
    wire = Wire().open()
    future = wire.submit("GET", "a")
    await a_turn()
    wire.pipeline.feed(b"-MOVED 5 %s\r\n" % where)
    error = future.exception()
    assert isinstance(error, MovedRedirectError)
    assert error.address == ("somewhere", 7001)


@pytest.mark.parametrize("answer", [b"", b"-MOVED 1 host:1\r\n"])
async def test_a_fenced_command_ends_with_its_pong_whether_or_not_an_error_came(answer: bytes) -> None:
    """SUNSUBSCRIBE is answered by a push, or by an error if the slot has left: the order must survive both."""
    wire = Wire().open()
    fenced = wire.pipeline.submit_fenced(pack_command("SUNSUBSCRIBE", "c"), pack_command("PING"))
    after = wire.submit("GET", "a")
    await a_turn()
    wire.pipeline.feed(answer + b"+PONG\r\n:1\r\n")
    assert (fenced.result(), after.result()) == (b"PONG", 1)


async def test_an_answer_without_a_request_is_a_protocol_error() -> None:
    wire = Wire().open()
    with pytest.raises(ProtocolError):
        wire.pipeline.feed(b":1\r\n")
    with pytest.raises(ProtocolError):
        _ = wire.pipeline.answer_by_push([b"ssubscribe", b"c"])


async def test_commands_wait_for_the_connection_and_its_greeting() -> None:
    wire = Wire()
    waiting = wire.submit("GET", "a")
    await a_turn()
    hello = wire.pipeline.greet(cast("Any", wire), b"HELLO")
    assert wire.writes == [b"HELLO"]
    wire.pipeline.feed(b":3\r\n")
    assert hello.result() == 3
    wire.open()
    wire.pipeline.feed(b":1\r\n")
    assert waiting.result() == 1


async def test_a_loss_distinguishes_sent_and_unsent_commands() -> None:
    wire = Wire().open()
    sent = wire.submit("INCR", "a")
    await a_turn()
    unsent = wire.submit("INCR", "b")
    wire.pipeline.fail("gone")
    assert isinstance(sent.exception(), OutcomeUnknownError)
    assert isinstance(unsent.exception(), UnreachableError)
    await a_turn()
    assert len(wire.writes) == 1
    wire.pipeline.feed(b":1\r\n")  # too late: the waiter has its error


async def test_deadlines_apply_also_behind_a_later_one() -> None:
    wire = Wire().open()
    now = asyncio.get_running_loop().time()
    patient, *hurried = [wire.submit("GET", "x", deadline=now + after_s) for after_s in (60, 0.02, 0.04)]
    for future in hurried:
        await until(future.done)
        error = future.exception()
        assert isinstance(error, OutcomeUnknownError)
        assert error.is_late
    assert not patient.done()
    late_comer = wire.submit("GET", "y")
    await a_turn()
    wire.pipeline.feed(b":1\r\n:2\r\n:3\r\n:4\r\n")
    assert (patient.result(), late_comer.result()) == (1, 4)


async def test_a_blocked_event_loop_does_not_make_the_server_late() -> None:
    wire, loop = Wire().open(), asyncio.get_running_loop()
    call = wire.submit("GET", "a", deadline=loop.time() + 0.01)
    time.sleep(0.3)  # noqa: ASYNC251 - the loop is blocked on purpose
    await a_turn()
    assert (len(wire.writes), call.done()) == (1, False)
    wire.pipeline.feed(b"$1\r\n1\r\n")
    assert await call == b"1"
    unanswered = wire.submit("GET", "a", deadline=loop.time() + 0.01)
    time.sleep(0.3)  # noqa: ASYNC251
    with pytest.raises(OutcomeUnknownError, match="no answer in time"):
        await unanswered


async def test_a_command_that_was_too_late_to_be_sent_is_never_sent() -> None:
    wire = Wire()
    future = wire.submit("INCR", "a", deadline=asyncio.get_running_loop().time() + 0.01)
    await until(future.done)
    assert isinstance(future.exception(), UnreachableError)
    wire.open()
    assert wire.writes == []


async def test_bounds_count_unanswered_commands() -> None:
    wire = Wire(max_commands=2).open()
    wire.submit("GET", "a").cancel()
    _ = wire.submit("GET", "b")
    with pytest.raises(OverloadedError, match="somewhere:6379: 2 commands"):
        _ = wire.submit("GET", "c")
    await a_turn()
    _ = wire.submit("GET", "c")
    with pytest.raises(OverloadedError):
        _ = wire.submit("GET", "d")
    wire.pipeline.feed(b":1\r\n")
    _ = wire.submit("GET", "d")


async def test_silence_counts_from_the_request_not_from_the_last_answer() -> None:
    wire = Wire().open()
    now = asyncio.get_running_loop().time()
    assert wire.pipeline.silent_s(now + 100) == 0.0  # no command is in flight
    _ = wire.submit("PING")
    await a_turn()
    assert 0.9 < wire.pipeline.silent_s(asyncio.get_running_loop().time() + 1) < 1.5


replies = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def encoded(value: Any) -> bytes:
    """RESP3, as a server writes it."""
    match value:
        case None:
            return b"_\r\n"
        case bool():
            return b"#t\r\n" if value else b"#f\r\n"
        case int():
            return b":%d\r\n" % value
        case bytes():
            return b"$%d\r\n%s\r\n" % (len(value), value)
        case _:
            return b"*%d\r\n" % len(value) + b"".join(map(encoded, value))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[low:high] for low, high in pairwise(edges)]


@settings(deadline=None)
@given(
    st.lists(st.tuples(replies, st.booleans(), st.booleans()), max_size=20), st.lists(st.integers(0, 10**6))
)
def test_every_answer_is_complete_for_any_split_of_the_bytes(
    answers: list[tuple[Any, bool, bool]], places: list[int]
) -> None:
    """With pushes in between and some cancelled calls."""

    async def tell() -> None:
        wire = Wire().open()
        futures = [wire.submit("GET", str(n)) for n in range(len(answers))]
        await a_turn()
        sent, pushed = b"", 0
        for (answer, has_push, _), _future in zip(answers, futures, strict=True):
            sent += b">2\r\n+note\r\n:%d\r\n" % pushed if has_push else b""
            pushed += has_push
            sent += encoded(answer)
        for future, (_, _, leaves) in zip(futures, answers, strict=True):
            if leaves:
                future.cancel()
        for part in cut(sent, places):
            wire.pipeline.feed(part)
        for future, (answer, _, leaves) in zip(futures, answers, strict=True):
            assert future.cancelled() if leaves else future.result() == answer
        assert wire.pushes == [[b"note", n] for n in range(pushed)]
        assert wire.pipeline.in_flight == 0

    run(tell())


@given(
    st.lists(
        st.binary(max_size=30) | st.text(st.characters(exclude_categories=["Cs"])) | st.integers(), max_size=6
    )
)
def test_a_packed_command_is_parsed_unchanged(args: list[Any]) -> None:
    server_side = reply_reader()
    server_side.feed(pack_command("CMD", *args))
    plain = [a if isinstance(a, bytes) else str(a).encode() for a in args]
    assert server_side.gets() == [b"CMD", *plain]
