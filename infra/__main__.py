"""`python -m infra write | check [--short] | plot`: write the generated files, check everything, or plot the dashboards."""

import argparse
import json
import sys
from pathlib import Path

from infra.check import check_all
from infra.generated import ROOT, write_all
from infra.monitoring.plots import plot_all
from infra.monitoring.recorded import read_recording, recorded_prometheus

_PLOTS = ROOT / "build" / "infra"


def main() -> int:
    parser = argparse.ArgumentParser(prog="just infra-check", description=__doc__)
    parser.add_argument("step", choices=("write", "check", "plot"))
    parser.add_argument(
        "--short", action="store_true", help="Leave out what takes minutes, as the gate does."
    )
    parser.add_argument("--folder", type=Path, default=_PLOTS, help="Folder for the plots.")
    options = parser.parse_args()
    if options.step == "write":
        for path in write_all():
            print(f"written: {path}")
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
