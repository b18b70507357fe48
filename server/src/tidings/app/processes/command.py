"""`tidings run`: run a process, or several of one kind that share a port and start and stop together.

Processes are not restarted here: if one of them or the parent dies, all end, and the platform starts them again.
"""

import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress

import click

from tidings.app.processes.child import child_command
from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.options import cursor_secrets, load_failpoints
from tidings.kernel.errors import Code, TidingsError


def run_processes(kind: str, count: int, settings: Settings) -> int:
    """Return the exit code of the first process that failed, or 0. Raise `settings_invalid` if the port is taken."""
    address = _address(kind, settings)
    try:
        reserved = _reserve(address)
    except OSError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            f"Cannot listen on {address[0]}:{address[1]}: {error.strerror}.",
            hint=f"Set `{kind}.port` or TIDINGS_{kind.upper()}_PORT.",
        ) from error
    with reserved as held:
        port = held.getsockname()[1]
        children = _Children()
        for number in range(count):
            children.start(kind, _environment(kind, settings, port, number))
        return children.wait()


def _address(kind: str, settings: Settings) -> tuple[str, int]:
    section = settings.gateway if kind == "gateway" else settings.api
    return section.host, section.port


def _reserve(place: tuple[str, int]) -> socket.socket:
    """Bind the port without listening: it is reserved for the children; port 0 selects a free one."""
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    held = socket.socket(family, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        held.bind(place)
    except OSError:
        held.close()
        raise
    return held


def _environment(kind: str, settings: Settings, port: int, number: int) -> Mapping[str, str]:
    given = {
        **os.environ,
        f"TIDINGS_{kind.upper()}_PORT": str(port),
        f"TIDINGS_{kind.upper()}_REUSE_PORT": "true",
        "TIDINGS_PROCESS_NUMBER": str(number),
    }
    if not cursor_secrets(settings):
        given["TIDINGS_API_CURSOR_SECRET"] = _SHARED_SECRET
    return given


_SHARED_SECRET = secrets.token_urlsafe(32)


class _Children:
    """The processes of one kind. Signals are forwarded to them from the start of the first one."""

    def __init__(self) -> None:
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._received: set[int] = set()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._forward)

    def start(self, kind: str, environment: Mapping[str, str]) -> None:
        """Start a process, unless a signal was received."""
        if self._received:
            return
        # a session of its own: only the parent receives Ctrl-C, and forwards it once
        child = subprocess.Popen(  # noqa: S603 - this program, and a kind from the command line
            [*child_command(signal.SIGTERM), "run", kind],
            env=environment,
            start_new_session=True,
            stdin=subprocess.PIPE,
        )
        self._running[child.pid] = child
        if self._received:  # it came while the process started
            child.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until all have ended. If one ends, end the others. Return the exit code of the first that failed."""
        outcome = 0
        while self._running:
            pid, status = os.wait()
            child = self._running.pop(pid, None)
            if child is None:
                continue
            code = child.returncode = os.waitstatus_to_exitcode(status)
            if -code not in self._received:  # a child that is starting has no handler yet: the signal ends it
                outcome = outcome or (code if code >= 0 else 128 - code)
            if not self._received:  # a second signal would interrupt processes that are draining
                self._forward(signal.SIGTERM, None)
        return outcome

    def _forward(self, number: int, _: object) -> None:
        self._received.add(number)
        for pid in list(self._running):
            with suppress(ProcessLookupError):  # it has ended, and `os.wait` will return it
                os.kill(pid, number)


@click.group(name="run")
def group() -> None:
    """Run a process of Tidings in the foreground; SIGTERM or Ctrl-C ends it in order."""


def _settings() -> Settings:
    settings = load().settings
    load_failpoints(settings)  # before anything is built: a test may replace code of the process
    return settings


_processes = click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of processes that share the port.",
)


@group.command()
@_processes
def api(processes: int) -> None:
    """Run the REST API."""
    from tidings.app.processes.api import BUILDS, run_api  # noqa: PLC0415 - half a second that `--help` need not wait
    from tidings.app.wiring.options import validate_settings  # noqa: PLC0415 - see above

    settings = _settings()
    if processes == 1:
        run_api(settings)
    validate_settings(settings, BUILDS)
    raise click.exceptions.Exit(run_processes("api", processes, settings))


@group.command()
@_processes
def gateway(processes: int) -> None:
    """Run the WebSocket gateway."""
    from tidings.app.processes.gateway import BUILDS, run_gateway  # noqa: PLC0415 - see above
    from tidings.app.wiring.options import validate_settings  # noqa: PLC0415 - see above

    settings = _settings()
    if processes == 1:
        run_gateway(settings)
    validate_settings(settings, BUILDS)
    raise click.exceptions.Exit(run_processes("gateway", processes, settings))


@group.command()
def delivery() -> None:
    """Run a delivery worker.

    Workers update chat lists, push to gateways and queue messages for offline users. Run as many as you need.
    """
    from tidings.app.processes.delivery import run_delivery  # noqa: PLC0415 - see above

    run_delivery(_settings())


@group.command()
def relay() -> None:
    """Run the relay.

    It audits every commit and publishes unprocessed ones again. Any number may run.
    """
    from tidings.app.processes.relay import run_relay  # noqa: PLC0415 - see above

    run_relay(_settings())


@group.command()
def console() -> None:
    """Run the operator console: its API under `/admin/v1`, and its pages."""
    from tidings.app.processes.console import run_console  # noqa: PLC0415 - see above

    run_console(_settings())


@group.command()
def notifications() -> None:
    """Run a notifications worker.

    Workers deliver notifications to users. Run as many as you need.
    """
    from tidings.app.processes.notifications import run_notifications  # noqa: PLC0415 - see above

    run_notifications(_settings())


@group.command()
def webhooks() -> None:
    """Run a webhook worker.

    Workers send the events of tenants to their endpoints. Run as many as you need.
    """
    from tidings.app.processes.webhooks import run_webhooks  # noqa: PLC0415 - see above

    run_webhooks(_settings())


@group.command()
def push() -> None:
    """Run a push worker.

    Workers send push notifications to users without a connected device. Run as many as you need.
    """
    from tidings.app.processes.push import run_push  # noqa: PLC0415 - see above

    run_push(_settings())


@group.command()
def search() -> None:
    """Run the search process.

    It keeps the index of messages up to date. With the index in a directory, run one.
    """
    from tidings.app.processes.search import run_search  # noqa: PLC0415 - see above

    run_search(_settings())


@group.command()
def media() -> None:
    """Run a media worker.

    Workers process attachments and delete files that nothing refers to. Run as many as you need.
    """
    from tidings.app.processes.media import run_media  # noqa: PLC0415 - see above

    run_media(_settings())


@group.command()
def archive() -> None:
    """Run the archive process.

    It moves the content of old messages to the bucket, for tenants that have set `archive-days`. One is enough.
    """
    from tidings.app.processes.archive import run_archive  # noqa: PLC0415 - see above

    run_archive(_settings())
