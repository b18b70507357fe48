"""Several processes of one kind on one machine."""

import signal
import socket
import subprocess
import sys

import pytest

from tidings.app.processes.command import run_processes
from tidings.app.settings import Settings
from tidings.app.settings.processes import ApiSettings, ProcessSettings
from tidings.app.wiring.options import ADMIN_PORTS, admin_options
from tidings.kernel.errors import Code, TidingsError


def test_a_port_in_use_is_reported_with_the_setting_to_change() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TidingsError) as caught:
            run_processes("api", 2, Settings(api=ApiSettings(host="127.0.0.1", port=port)))
    assert caught.value.code is Code.SETTINGS_INVALID
    assert caught.value.message == f"Cannot listen on 127.0.0.1:{port}: Address already in use."
    assert "TIDINGS_API_PORT" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "port", "may_move"),
    [(None, ADMIN_PORTS["api"] + 1, True), (7_000, 7_001, False), (0, 0, False)],
)
def test_the_second_process_has_the_next_admin_port(given: int | None, port: int, *, may_move: bool) -> None:
    """A default port may move when the process binds it: another process can take it after any earlier check."""
    options = admin_options(Settings(process=ProcessSettings(admin_port=given, number=1)), "api")
    assert (options.port, options.may_move) == (port, may_move)


# Children without a handler, as those that are still starting: the first argument is what they do. With a second
# argument, the parent receives SIGTERM as soon as it handles it.
_PARENT = """
import os, signal, sys, threading, time
from tidings.app.processes import command
from tidings.app.settings import Settings
from tidings.app.settings.processes import ApiSettings

def stop():
    while not callable(signal.getsignal(signal.SIGTERM)):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGTERM)

command.child_command = lambda _: (sys.executable, "-c", sys.argv[1])
if sys.argv[2:]:
    threading.Thread(target=stop, daemon=True).start()
sys.exit(command.run_processes("api", 2, Settings(api=ApiSettings(host="127.0.0.1", port=0))))
"""


def test_a_stop_while_the_processes_start_is_no_failure() -> None:
    assert _exit_code("import time; time.sleep(60)", "stop") == 0


def test_a_killed_process_is_a_failure() -> None:
    assert _exit_code("import os; os.kill(os.getpid(), 9)") == 128 + signal.SIGKILL


def _exit_code(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-c", _PARENT, *arguments], check=False, timeout=30).returncode
