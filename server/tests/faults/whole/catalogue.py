"""All faults, in the order in which they are injected."""

from typing import Final

from faults.whole import (
    brokers,
    clocks,
    commit_then_crash,
    disk_full,
    failover,
    freezes,
    frozen_shard,
    hot_chat,
    kills,
    machine_crash,
    network_faults,
    poison,
    removal_race,
    restore,
    rolling,
    slow_consumers,
    storm,
    wipes,
)

FAULTS: Final = (
    kills.FAULT,
    freezes.FAULT,
    frozen_shard.FAULT,
    wipes.FAULT,
    commit_then_crash.FAULT,
    network_faults.FAULT,
    clocks.FAULT,
    rolling.FAULT,
    storm.FAULT,
    slow_consumers.FAULT,
    poison.FAULT,
    disk_full.FAULT,
    hot_chat.FAULT,
    removal_race.FAULT,
    restore.FAULT,
    restore.APART,
    machine_crash.FAULT,
    failover.FAULT,  # the last one with one broker: it leaves the installation in another region
    brokers.FAULT,
)
