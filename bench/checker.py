"""Measure how many events per second the checker processes on one core, from the files to the verdict."""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.report import Spread, print_figures, print_table
from tidings_harness.checking.check import check
from tidings_harness.history.events import RECORD, EntryCategory
from tidings_harness.history.loader import History, load_history
from tidings_harness.history.recorder import Recorder
from tidings_harness.synthetic_history import SyntheticSetup, synthesize


def written(history: History, directory: Path) -> None:
    """Write events as the recorder does."""
    with Recorder(directory, 1) as recorder:
        for name in history.names:
            recorder.name(name)
    with (directory / "0001.events").open("ab") as file:
        file.write(history.events.tobytes())


def recorder_us(directory: Path, calls: int) -> float:
    with Recorder(directory, 2) as recorder:
        device, chat = recorder.name("device"), recorder.name("chat")
        start = time.process_time()
        for number in range(calls):
            recorder.delivered(device, chat, 1, number, number, sort=EntryCategory.MESSAGE, is_asked=False)
            recorder.flush()
        return (time.process_time() - start) / calls * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--devices", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    town = SyntheticSetup(
        chats=given.chats, members=given.members, devices=given.devices, entries=given.entries
    )
    with tempfile.TemporaryDirectory(prefix="tidings-") as place:
        written(synthesize(town), Path(place))
        events = (Path(place) / "0001.events").stat().st_size // RECORD.itemsize - 1
        loading, checking, rules = [], [], {}
        for _ in range(given.rounds):
            start = time.process_time()
            history = load_history(Path(place))
            loaded = time.process_time()
            verdict = check(history)
            if not verdict.is_good:
                raise SystemExit(str(verdict))
            checking.append((time.process_time() - loaded) / events * 1e9)
            loading.append((loaded - start) / events * 1e9)
            rules = {name: spent / events * 1e9 for name, spent in verdict.seconds.items()}
        one = recorder_us(Path(place), 100_000)
    rows = [("load", Spread(tuple(loading))), ("check", Spread(tuple(checking)))]
    print_table(
        ("CPU ns an event", f"{events:,} events"),
        [*rows, *((f"  {n}", f"{s:.1f}") for n, s in rules.items())],
    )
    each_ns = float(np.median(np.add(loading, checking)))
    print_figures(
        {"events": events, "events_per_s": 1e9 / each_ns, "ns_per_event": each_ns, "record_us": one}
    )


if __name__ == "__main__":
    main()
