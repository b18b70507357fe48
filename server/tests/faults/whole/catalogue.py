"""Every fault, in the order in which they are inflicted."""

from typing import Final

from faults.whole import (
    commit_then_crash,
    freezes,
    hot_chat,
    kills,
    removal_race,
    rolling,
    slow_consumers,
    storm,
    wipes,
)

FAULTS: Final = (
    kills.FAULT,
    freezes.FAULT,
    wipes.FAULT,
    commit_then_crash.FAULT,
    rolling.FAULT,
    storm.FAULT,
    slow_consumers.FAULT,
    hot_chat.FAULT,
    removal_race.FAULT,
)
