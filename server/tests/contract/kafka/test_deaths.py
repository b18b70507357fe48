"""The consumer's own end: killed with -9 between effect and commit, and stopped while no broker answers."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from contract.kafka.doomed import BATCH
from contract.kafka.harness import (
    QUICK,
    Worker,
    committed,
    eventually,
    fill,
    make_topic,
    publishing,
    run,
)

from tidings.engines.fleet import Fleet
from tidings.platform.kafka.connection import Connection
from tidings.platform.kafka.reader import ReaderTuning

ROOT = Path(__file__).parents[2]


def test_after_kill_9_between_effect_and_commit_exactly_the_uncommitted_is_repeated(
    at_lone: Connection, tmp_path: Path
) -> None:
    make_topic(at_lone)
    run(fill(at_lone, 200))
    written = tmp_path / "effects"
    start = kill_at_its_effect(at_lone, written)
    done = [int(line) for line in written.read_text().split()]
    assert done == list(range(start + BATCH))
    assert committed(at_lone) == start

    async def scenario() -> None:
        worker = Worker(at_lone)
        async with worker.running():
            await eventually(lambda: worker.count() == 200 - start)
        assert worker.effects[0] == list(range(start, 200))
        repeated = set(done) & set(worker.effects[0])
        assert sorted(repeated) == list(range(start, done[-1] + 1))

    run(scenario())


def kill_at_its_effect(connection: Connection, written: Path) -> int:
    """Once the batches before are committed. Returns the first offset of the batch that was not."""
    arguments = [connection.bootstrap_servers, connection.topic_prefix, str(written)]
    process = subprocess.Popen(
        [sys.executable, "-m", "contract.kafka.doomed", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        start = int(process.stdout.readline())
        run(eventually(lambda: committed(connection) == start))
    finally:
        process.kill()
        process.communicate()
    return start


def test_stopping_takes_a_bounded_time_though_no_broker_answers(lone: Fleet, at_lone: Connection) -> None:
    """librdkafka's own close waits for the coordinator for ever."""
    make_topic(at_lone)

    async def scenario() -> None:
        tuning = replace(QUICK, reader=ReaderTuning(commit_every_s=60, last_commit_s=0.5), close_s=0.5)
        worker = Worker(at_lone, tuning=tuning)
        async with publishing(at_lone, delivery_timeout_s=1):
            await fill(at_lone, 10)
            async with worker.running():
                await eventually(lambda: worker.count() == 10)
                lone.kill("kafka-1")
                before = time.monotonic()
                worker.consumer.stop()
            took_s = time.monotonic() - before
        assert took_s < 5

    run(scenario())
