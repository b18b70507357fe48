"""The consumer's own end: killed with -9 between effect and commit."""

import subprocess
import sys
from pathlib import Path

from contract.kafka.crashing_consumer import BATCH
from contract.kafka.harness import (
    Worker,
    committed,
    eventually,
    fill,
    make_topic,
    run,
)

from tidings.platform.kafka.config import KafkaConfig

ROOT = Path(__file__).parents[2]


def test_after_kill_9_between_effect_and_commit_exactly_the_uncommitted_is_repeated(
    at_lone: KafkaConfig, tmp_path: Path
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


def kill_at_its_effect(connection: KafkaConfig, written: Path) -> int:
    """Once the batches before are committed. Returns the first offset of the batch that was not."""
    arguments = [connection.bootstrap_servers, connection.topic_prefix, str(written)]
    process = subprocess.Popen(
        [sys.executable, "-m", "contract.kafka.crashing_consumer", *arguments],
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
