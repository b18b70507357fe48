"""Who listens on a port of this machine."""

import importlib
import re
import resource
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidings.app.processes.command import group
from tidings.app.settings.gateway import GatewaySettings
from tidings.app.settings.loader import env_name
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.errors import TidingsError

if TYPE_CHECKING:
    from tidings.app.wiring.options import OptionsBuilder

_OURS = re.compile(r"tidings.* run \w+$")


@dataclass(frozen=True, slots=True)
class PortHolder:
    """Without a `pid`: somebody else's process, of which the system tells nothing."""

    pid: int | None = None
    command: str = ""

    @property
    def text(self) -> str:
        """To stand after "is taken"."""
        return f" by `{self.command}` (process {self.pid})" if self.pid else " by a process of somebody else"

    @property
    def is_ours(self) -> bool:
        return _OURS.search(self.command) is not None


def find_port_holder(port: int) -> PortHolder | None:
    """None: the port is free."""
    if _is_free(port):
        return None
    try:
        import psutil  # noqa: PLC0415 - not there in every installation
    except ModuleNotFoundError:
        return PortHolder()
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port and found.pid:
                return PortHolder(found.pid, " ".join(psutil.Process(found.pid).cmdline()))
    except psutil.Error:
        pass  # it ended meanwhile, or this system lets only root look
    return PortHolder()


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


OLDEST = (3, 12)
_PROCESS_MB = 150
_DEVICE_KB = 12
"""Of an idle device, as measured: docs/explanation/gateway-sockets.md."""
_FILES_BESIDE = 500
_LOWERS, _REFUSES = "takes fewer connections than the default", "refuses to start"
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_python(
    context: DoctorContext, version: tuple[int, ...] = sys.version_info[:3]
) -> Iterator[Finding]:
    del context
    shown = ".".join(map(str, version))
    if version[:2] < OLDEST:
        need = ".".join(map(str, OLDEST))
        yield Finding(
            "python",
            CheckState.WRONG,
            f"Python {shown}",
            f"Tidings needs {need} or newer.",
            f"Install {need}.",
        )
    elif find_spec("uvloop") is None:
        yield Finding(
            "python",
            CheckState.WARNING,
            f"Python {shown} without uvloop",
            "The standard event loop serves fewer requests with the same CPU.",
            "pip install uvloop, where it exists for this system.",
        )
    else:
        yield ok("python", f"Python {shown}")


def check_memory(context: DoctorContext) -> Iterator[Finding]:
    if find_spec("psutil") is None:
        yield skipped("memory", "psutil is not installed (`pip install 'tidings[engines]'`)")
        return
    import psutil  # noqa: PLC0415 - not there in every installation

    free_mb = psutil.virtual_memory().available // 2**20
    devices = context.loaded.settings.gateway.max_connections
    need_mb = len(group.commands) * _PROCESS_MB + devices * _DEVICE_KB // 1024
    if need_mb > free_mb:
        yield Finding(
            "memory",
            CheckState.WARNING,
            f"{free_mb:,} MB free; a process of each kind and {devices:,} devices need about {need_mb:,} MB",
            "A gateway that runs out of memory is killed, with all its devices.",
            "Lower gateway.max_connections, or give the machine more memory.",
        )
    else:
        yield ok("memory", f"{free_mb:,} MB free, {need_mb:,} MB needed with {devices:,} devices")


def check_open_files(context: DoctorContext) -> Iterator[Finding]:
    """As `tidings run gateway` judges it before it starts."""
    gateway = context.loaded.settings.gateway
    need = gateway.max_connections + gateway.max_handshakes + _FILES_BESIDE
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < need:
        is_default = gateway.max_connections == GatewaySettings().max_connections
        room = max(1, hard - gateway.max_handshakes - _FILES_BESIDE)
        yield Finding(
            "open files",
            CheckState.WARNING if is_default else context.unless_dev,
            f"{hard:,} allowed, {need:,} needed for gateway.max_connections = {gateway.max_connections:,}",
            f"Every device is an open file: `tidings run gateway` {_LOWERS if is_default else _REFUSES}.",
            f"Raise the hard limit (ulimit -Hn, LimitNOFILE), or set gateway.max_connections to {room:,} at most.",
        )
    else:
        yield ok("open files", f"{need:,} needed, more are allowed")


def check_ports(context: DoctorContext) -> Iterator[Finding]:
    for name in sorted(group.commands):
        port: int | None = getattr(getattr(context.loaded.settings, name, None), "port", None)
        if port:
            yield _port(context, name, port)


def _port(context: DoctorContext, name: str, port: int) -> Finding:
    who = find_port_holder(port)
    if who is None:
        return ok("ports", f"{port} is free for {name}")
    if who.is_ours:
        return ok("ports", f"{port} is held by Tidings itself (process {who.pid})")
    return Finding(
        "ports",
        context.unless_dev,
        f"{port}, meant for {name}, is taken{who.text}",
        f"`tidings run {name}` can't listen there.",
        f"End that process, or set {env_name((name, 'port'))} to another port.",
    )


def check_secrets(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    files = sorted((settings.engines.data_dir / "dev").glob("*.json"))
    if settings.encryption.kms == "file":
        files.append(settings.encryption.key_file)
    there = [path for path in files if path.exists()]
    if open_ones := [path for path in there if path.stat().st_mode & _FOR_OTHERS]:
        yield from (_readable(path) for path in open_ones)
    else:
        words = ", ".join(str(path) for path in there)
        yield ok("secrets", f"only you can read {words}" if there else "no key file yet: made at first use")


def _readable(path: Path) -> Finding:
    return Finding(
        "secrets",
        CheckState.WRONG,
        f"{path} is open to others (mode {stat.S_IMODE(path.stat().st_mode):04o})",
        "Who has it can read what is stored, or come in as anybody; Tidings refuses to use such a key file.",
        f"chmod 600 {path}. If somebody else may have read it, begin anew with another.",
    )


WHY = "No process starts with settings that it can't use."
_MISSING = ": is missing;"
"""Of an engine: that is looked at by itself, in more words."""
TODO = "`tidings config show` prints every setting and its source; docs/reference/settings.md explains them."


def load_failed(error: TidingsError) -> Finding:
    """They can't even be read."""
    faults = error.details.get("faults")
    details = [str(fault) for fault in faults] if isinstance(faults, list) else [error.message]
    return Finding("settings", CheckState.WRONG, "have faults", WHY, TODO, details)


def check_settings(context: DoctorContext) -> Iterator[Finding]:
    from tidings.app.wiring.options import validate_settings  # noqa: PLC0415 - slow to import

    builds = dict.fromkeys(build for name in sorted(group.commands) for build in _builds(name))
    try:
        validate_settings(context.loaded.settings, [*builds])
    except TidingsError as error:
        found = load_failed(error)
        if details := [fault for fault in found.details if _MISSING not in fault]:
            yield replace(found, details=details)
            return
    yield ok("settings", f"{len(context.loaded.sources)} given, the rest are defaults")


def _builds(kind: str) -> tuple["OptionsBuilder", ...]:
    """What a process of this kind tries before it starts."""
    tried: tuple[OptionsBuilder, ...] = getattr(
        importlib.import_module(f"tidings.app.processes.{kind}"), "BUILDS", ()
    )
    return tried
