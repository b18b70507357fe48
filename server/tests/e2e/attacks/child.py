"""The subprocess of an attack or of its control: `python -m e2e.attacks.child module:function {given} seconds`."""

import importlib
import json
import sys
import time

BEGUN = b"begun\n"
_SLICE_S = 0.005


def burn(seconds: float, cpu_s: float) -> float:
    """Use `cpu_s` of CPU, spread evenly over `seconds`."""
    began, own = time.monotonic(), time.process_time()
    while (elapsed_s := time.monotonic() - began) < seconds:
        if time.process_time() - own >= cpu_s * elapsed_s / seconds:
            time.sleep(_SLICE_S)
    return time.process_time() - own


def main() -> None:
    name, given, seconds = sys.argv[1:]
    module, _, function = name.partition(":")
    run = getattr(importlib.import_module(module), function)
    sys.stdout.buffer.write(BEGUN)
    sys.stdout.flush()
    own = time.process_time()
    achieved = run(float(seconds), **json.loads(given))
    print(json.dumps({"achieved": achieved, "cpu_s": time.process_time() - own}))


if __name__ == "__main__":
    main()
