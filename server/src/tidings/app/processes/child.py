"""Run `tidings` in a child process that ends with its parent, even if the parent is killed with kill -9.

The child's standard input is a pipe that only the parent holds, and to which it never writes: the pipe ends with the
parent. Linux's PDEATHSIG is no replacement: it follows the thread that started the child, not the process.
"""

import os
import runpy
import signal
import sys
import threading


def child_command(on_parent_exit: signal.Signals) -> tuple[str, ...]:
    """Return the command of such a child, to which the arguments of `tidings` are appended.

    The child sends itself `on_parent_exit` when the parent ends. Start it with a pipe as its standard input.
    """
    return sys.executable, "-m", "tidings.app.processes.child", on_parent_exit.name


def _end_with_stdin(number: signal.Signals) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    # the watch starts before the server's code is imported, which takes long enough for a parent to die
    watched = signal.Signals[sys.argv.pop(1)]
    threading.Thread(target=_end_with_stdin, args=(watched,), name="parent watch", daemon=True).start()
    runpy.run_module("tidings", run_name="__main__", alter_sys=True)
