"""The consumer's own end: killed with -9 between effect and commit."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from contract.kafka.crashing_consumer import BATCH
from contract.kafka.harness import (
    Worker,
    committed,
    eventually,
    fill,
    make_topic,
)

from tidings.platform.kafka.config import KafkaConfig

pytestmark = pytest.mark.deadline(240)

ROOT = Path(__file__).parents[2]


async def test_after_kill_9_between_effect_and_commit_exactly_the_uncommitted_is_repeated(
    at_lone: KafkaConfig, tmp_path: Path
) -> None:
    make_topic(at_lone)
    await fill(at_lone, 200)
    written = tmp_path / "effects"
    start = await kill_at_its_effect(at_lone, written)
    done = [int(line) for line in written.read_text().split()]
    assert done == list(range(start + BATCH))
    assert committed(at_lone) == start
    worker = Worker(at_lone)
    async with worker.running():
        await eventually(lambda: worker.count() == 200 - start)
    assert worker.effects[0] == list(range(start, 200))
    repeated = set(done) & set(worker.effects[0])
    assert sorted(repeated) == list(range(start, done[-1] + 1))


def start_consumer(connection: KafkaConfig, written: Path) -> subprocess.Popen[str]:
    arguments = [connection.bootstrap_servers, connection.topic_prefix, str(written)]
    return subprocess.Popen(
        [sys.executable, "-m", "contract.kafka.crashing_consumer", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


async def kill_at_its_effect(connection: KafkaConfig, written: Path) -> int:
    """Kill a consumer once its earlier batches are committed. Return the first offset that is not committed."""
    process = start_consumer(connection, written)
    try:
        assert process.stdout is not None
        start = int(await asyncio.to_thread(process.stdout.readline))
        await eventually(lambda: committed(connection) == start)
    finally:
        process.kill()
        process.communicate()
    return start
