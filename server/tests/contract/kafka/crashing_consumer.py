"""A consumer process that dies between an effect and its commit: `test_deaths` kills it there.

Arguments: bootstrap servers, prefix, the file that effects are written to.
"""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from contract.kafka.harness import QUICK, Worker

from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.partition_worker import PartitionWorkerOptions
from tidings.platform.kafka.records import Batch

BATCH = 20
DIES_IN = 60


async def main(servers: str, prefix: str, path: Path) -> None:
    effects = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def write(batch: Batch[int]) -> None:
        lines = "".join(f"{event.record.offset}\n" for event in batch.events)
        os.write(effects, lines.encode())
        if batch.events[-1].record.offset >= DIES_IN:
            sys.stdout.write(f"{batch.events[0].record.offset}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    connection = KafkaConfig(bootstrap_servers=servers, topic_prefix=prefix)
    tuning = replace(QUICK, worker=PartitionWorkerOptions(max_batch_records=BATCH))
    async with Worker(connection, tuning=tuning, before=write).running():
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
