"""The first thing in a process that `tidings dev` starts: it ends when the supervisor does, even by kill -9.

Its stdin is a pipe that the supervisor holds open and never writes to. Works wherever pipes do; Linux's
PDEATHSIG would hang on the thread that happened to start the process.
"""

import os
import signal
import sys
import threading

COMMAND = (sys.executable, "-m", "tidings.dev.parent_watch")


def main() -> None:
    threading.Thread(target=_end_with_stdin, name="leash", daemon=True).start()
    from tidings.cli import main as tidings  # noqa: PLC0415 - the leash holds before anything is imported

    sys.argv = ["tidings", *sys.argv[1:]]
    tidings()


def _end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
