"""`python -m infra write | check [--short] | plot | derive | record --folder FOLDER`.

Write the generated files, check everything, plot the dashboards, find which calls each process makes, or add recorded calls.
"""

import argparse
import json
import sys
from pathlib import Path

from infra.aws import process_calls
from infra.aws.iam_checks import merge_recorded
from infra.check import check_all
from infra.generated import ROOT, write_all
from infra.monitoring.plots import plot_all
from infra.monitoring.recorded import read_recording, recorded_prometheus

_PLOTS = ROOT / "build" / "infra"


def main() -> int:
    parser = argparse.ArgumentParser(prog="just infra-check", description=__doc__)
    parser.add_argument("step", choices=("write", "check", "plot", "derive", "record"))
    parser.add_argument(
        "--short", action="store_true", help="Leave out what takes minutes, as the gate does."
    )
    parser.add_argument(
        "--folder", type=Path, default=_PLOTS, help="Folder for the plots, or of recorded calls."
    )
    options = parser.parse_args()
    if options.step == "write":
        for path in write_all():
            print(f"written: {path}")
        return 0
    if options.step == "derive":
        process_calls.write_calls()
        return 0
    if options.step == "record":
        merge_recorded([options.folder])
        return 0
    if options.step == "plot":
        recording = read_recording()
        with recorded_prometheus(recording) as prometheus:
            for path in plot_all(prometheus, recording, options.folder):
                print(path)
        return 0
    result = check_all(is_short=options.short)
    for fault in result.faults:
        print(f"fault: {fault}")
    for tool in result.not_run:
        print(f"not run: {tool}")
    print(json.dumps(result.figures))
    return 1 if result.faults else 0


sys.exit(main())
