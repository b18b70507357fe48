"""A consumer in a process of its own, to be killed or stopped: writes each batch to a file, then ends it, or stalls.

Arguments: bootstrap servers, prefix, the file, the offset from which on it stalls.
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

BATCH = 8


async def main(connection: KafkaConfig, path: Path, stalls_from: int) -> None:
    effects = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def write(batch: Batch[int]) -> None:
        first, last = batch.events[0].record.offset, batch.events[-1].record.offset
        values = ",".join(str(event.body) for event in batch.events)
        os.write(effects, f"{batch.partition} {first} {last} {values}\n".encode())
        if last >= stalls_from:
            await asyncio.Event().wait()

    tuning = replace(QUICK, worker=PartitionWorkerOptions(max_batch_records=BATCH))
    async with Worker(connection, tuning=tuning, before=write).running():
        await asyncio.Event().wait()


if __name__ == "__main__":
    at = KafkaConfig(bootstrap_servers=sys.argv[1], topic_prefix=sys.argv[2])
    asyncio.run(main(at, Path(sys.argv[3]), int(sys.argv[4])))
