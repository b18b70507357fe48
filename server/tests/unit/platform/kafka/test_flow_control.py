"""Flow control: which partitions are paused and resumed, and how long full ones delay the rest."""

import threading
import time
from typing import TYPE_CHECKING, cast

import pytest
from confluent_kafka import TopicPartition

from tidings.platform.kafka import consumer_thread as flow_module
from tidings.platform.kafka.consumer_thread import FlowControl
from tidings.platform.kafka.partition_worker import PartitionFailure

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from tidings.platform.kafka.partition_worker import PartitionWorker

A, B = ("t", 0), ("t", 1)


class FakeConsumer:
    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def pause(self, parts: list[TopicPartition]) -> None:
        self.calls += [("pause", part.partition) for part in parts]

    def resume(self, parts: list[TopicPartition]) -> None:
        self.calls += [("resume", part.partition) for part in parts]


class FakeLane:
    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.is_full = False
        self.is_empty = False
        self.trouble: PartitionFailure | None = None

    @property
    def wants_more(self) -> bool:
        return not self.is_full and self.trouble is None


class Bench:
    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.a, self.b = FakeLane(A), FakeLane(B)
        self.flow: FlowControl[object] = FlowControl(patience_s=0.5)
        self.workers = cast("dict[tuple[str, int], PartitionWorker[object]]", {A: self.a, B: self.b})

    def steer(self) -> list[tuple[str, int]]:
        before = len(self.consumer.calls)
        self.flow.steer(cast("Consumer", self.consumer), self.workers)
        return self.consumer.calls[before:]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(flow_module, "_MIN_PAUSE_S", 0.0)
    return Bench()


def test_a_failure_pauses_once_and_its_end_resumes_once(bench: Bench) -> None:
    bench.a.trouble = PartitionFailure(0, 1, "away")
    assert [bench.steer(), bench.steer()] == [[("pause", 0)], []]
    bench.a.trouble = None
    assert [bench.steer(), bench.steer()] == [[("resume", 0)], []]


def test_a_resume_never_follows_a_pause_too_soon(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_module, "_MIN_PAUSE_S", 0.05)
    bench.a.is_full = True
    bench.steer()
    paused_at = time.monotonic()
    bench.a.is_full = False
    while not bench.steer():
        assert time.monotonic() < paused_at + 5
    assert time.monotonic() - paused_at >= 0.04


def test_a_pause_survives_the_assignment_and_ends_at_the_next_one(bench: Bench) -> None:
    bench.a.is_full = True
    bench.steer()
    gone = bench.workers.pop(A)
    assert bench.steer() == []
    bench.a.is_full = False
    bench.workers[A] = gone
    assert bench.steer() == [("resume", 0)]


def test_a_kick_pauses_and_then_resumes_a_healthy_partition(bench: Bench) -> None:
    bench.flow.kick([B])
    assert [bench.steer(), bench.steer(), bench.steer()] == [[("pause", 1)], [("resume", 1)], []]


def test_a_full_partition_that_makes_room_is_not_paused(bench: Bench) -> None:
    bench.a.is_full = True

    def make_room() -> None:
        bench.a.is_full = False
        bench.flow.has_room.set()

    threading.Timer(0.01, make_room).start()
    bench.flow.await_room(bench.workers)
    assert bench.steer() == []


def test_a_slow_partition_is_waited_for_once_until_it_has_caught_up(bench: Bench) -> None:
    bench.a.is_full = True
    assert waited_s(bench) >= 0.4
    assert waited_s(bench) < 0.4
    assert bench.steer() == [("pause", 0)]
    bench.a.is_full, bench.a.is_empty = False, True
    waited_s(bench)
    bench.steer()
    bench.a.is_full, bench.a.is_empty = True, False
    assert waited_s(bench) >= 0.4


def test_a_failing_partition_is_not_waited_for(bench: Bench) -> None:
    bench.a.is_full, bench.a.trouble = True, PartitionFailure(0, 1, "away")
    assert waited_s(bench) < 0.4


def test_polling_is_frequent_only_while_a_partition_is_full(bench: Bench) -> None:
    bench.a.trouble = PartitionFailure(0, 1, "away")
    bench.steer()
    assert not bench.flow.is_holding_back
    bench.b.is_full = True
    bench.steer()
    assert bench.flow.is_holding_back


def waited_s(bench: Bench) -> float:
    before = time.monotonic()
    bench.flow.await_room(bench.workers)
    return time.monotonic() - before
