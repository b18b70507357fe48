"""Processes that outlive the command that started them: start, find and end them; and readiness checks of engines.

Pids are reused, so a process is identified by its pid and start time.
"""

import ctypes
import http.client
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil


@dataclass(frozen=True)
class Pid:
    pid: int
    born: float

    def find(self) -> psutil.Process | None:
        """Return the process if it is the one that was started and has not ended."""
        try:
            process = psutil.Process(self.pid)
            if process.create_time() != self.born or _is_dead(process):
                return None
        except psutil.NoSuchProcess:
            return None
        return process

    @property
    def is_alive(self) -> bool:
        return self.find() is not None


def _is_dead(process: psutil.Process) -> bool:
    """Return whether it is a zombie. A JVM whose first thread has ended looks like one but has other threads."""
    return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1


def spawn(command: list[str], log: Path, cwd: Path, *, dies_with_us: bool = False) -> Pid:
    """Start a process in its own session, so that Ctrl-C in this terminal does not reach it.

    `dies_with_us`: it ends with this process, even after kill -9. Works on Linux only.
    """
    with open_log(log) as out:
        child = subprocess.Popen(  # noqa: S603 - a fixed command
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=_die_with_parent if dies_with_us and sys.platform == "linux" else None,  # noqa: PLW1509
        )
    # Commands that manage it later are not its parent. Setting a code prevents the warning about a running child.
    child.returncode = 0
    return Pid(child.pid, psutil.Process(child.pid).create_time())


def notify_service_manager(state: str) -> None:
    """Report a state to systemd (`Type=notify`). Does nothing elsewhere."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto(state.encode(), address.replace("@", "\0", 1) if address.startswith("@") else address)


def open_log(path: Path) -> IO[str]:
    """Create a log file that only its owner may read: it can contain login codes and settings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
    os.fchmod(descriptor, _PRIVATE)  # The file may exist with other permissions.
    return os.fdopen(descriptor, "w", buffering=1)


_PRIVATE = 0o600
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    """Ask the kernel to kill this process with its parent. Runs between fork and exec, so it must take no lock."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def send_signal(pids: Iterable[Pid], number: signal.Signals) -> None:
    for process in [pid.find() for pid in pids]:
        if process is not None:
            process.send_signal(number)


def terminate(pids: list[Pid], grace_s: float) -> None:
    """End processes with SIGTERM, and with SIGKILL those that have not ended after `grace_s`. Waits for all."""
    send_signal(pids, signal.SIGTERM)
    send_signal(pids, signal.SIGCONT)  # A suspended process does not handle SIGTERM.
    if not _has_exited(pids, grace_s):
        send_signal(pids, signal.SIGKILL)
        _has_exited(pids, 10)


def kill(pids: list[Pid]) -> None:
    """Kill processes with SIGKILL and wait until they have ended."""
    send_signal(pids, signal.SIGKILL)
    _has_exited(pids, 10)


def _has_exited(pids: list[Pid], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while any(pid.is_alive for pid in pids):
        if time.monotonic() > deadline:
            return False
        _reap(pids)
        time.sleep(0.02)
    _reap(pids)
    return True


def _reap(pids: list[Pid]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid.pid, os.WNOHANG)
        except ChildProcessError:
            continue  # Not a child of this process: init reaps it.


_TIMEOUT_S = 2.0
_METADATA, _VERSION_0, _NO_CLIENT_ID = 3, 0, -1


def is_dynamo_ready(port: int) -> bool:
    """Return whether ListTables answers 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    headers = {
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Date": "20260101T000000Z",
        # Local engines require a signature and do not check it.
        "Authorization": "AWS4-HMAC-SHA256 Credential=ready/20260101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host, Signature=0",
    }
    try:
        connection.request("POST", "/", b"{}", headers)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_valkey_ready(port: int) -> bool:
    """Return whether PING is answered with PONG."""
    try:
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as sock:
            sock.sendall(b"PING\r\n")
            return sock.recv(64).startswith(b"+PONG")
    except OSError:
        return False


def is_kafka_ready(port: int, brokers: int) -> bool:
    """Return whether the metadata lists all brokers of the cluster."""
    request = struct.pack(">hhihi", _METADATA, _VERSION_0, 1, _NO_CLIENT_ID, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            answer = sock.recv(4 + 4 + 4, socket.MSG_WAITALL)
    except OSError:
        return False
    return len(answer) == 4 + 4 + 4 and struct.unpack(">iii", answer)[2] >= brokers


def is_port_open(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _TIMEOUT_S):
            return True
    except OSError:
        return False
