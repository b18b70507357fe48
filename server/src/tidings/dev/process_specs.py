"""Define the processes of `tidings dev` with their ports and settings: one for each command of `tidings run`."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidings.app.processes.command import group
from tidings.app.settings.loader import Key, LoadedSettings, env_name
from tidings.doctor.machine import find_port_holder
from tidings.engines.node_plan import PortAllocator
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import LOCAL

# For a developer's machine: short waits at a stop, every request logged, and no more connections than the usual
# limit of 1,024 open files allows.
_EASED: Mapping[Key, str] = {
    ("process", "drain_s"): "0",
    ("process", "stop_s"): "12",
    ("gateway", "drain_spread_s"): "0.5",
    ("gateway", "max_connections"): "400",
    ("gateway", "max_handshakes"): "100",
    ("gateway", "max_connections_per_address"): "400",
    ("gateway", "max_handshakes_per_address"): "100",
    ("gateway", "max_connects_per_s_per_address"): "500",
    ("inboxes", "broadcast_spread_s"): "1",
    ("api", "access_log_ratio"): "1",
    ("api", "allowed_origins"): LOCAL,
    ("gateway", "allowed_origins"): LOCAL,
}


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """`port` is for clients; workers have none. `note`: why the port differs from the setting."""

    name: str
    admin_port: int
    port: int | None = None
    note: str = ""

    @property
    def is_edge(self) -> bool:
        return self.port is not None


def process_specs(loaded: LoadedSettings) -> list[ProcessSpec]:
    ports = PortAllocator()
    return [_kind(name, loaded, ports) for name in sorted(group.commands)]


def _kind(name: str, loaded: LoadedSettings, ports: PortAllocator) -> ProcessSpec:
    wanted: int | None = getattr(getattr(loaded.settings, name, None), "port", None)
    admin_port = ports.take(0, name)
    if wanted is None:
        return ProcessSpec(name, admin_port)
    holder = find_port_holder(wanted) if wanted else None
    if holder is None:
        return ProcessSpec(name, admin_port, ports.take(wanted, name))
    if (name, "port") in loaded.sources:
        raise TidingsError(
            Code.ENGINE_PORT_TAKEN,
            f"Port {wanted}, set as {name}.port, is taken{holder.text}.",
            hint=f"Free it, or set {env_name((name, 'port'))} to another, or to 0 for any free one.",
        )
    free = ports.take(0, name)
    return ProcessSpec(name, admin_port, free, f"port {wanted} is taken{holder.text}: {name} is at {free}")


def process_settings(kind: ProcessSpec, loaded: LoadedSettings, cursor_secret: str) -> dict[str, str]:
    """Return the environment of the process. Settings that the user has given are not changed."""
    eased = {**_EASED, ("api", "cursor_secret"): cursor_secret}
    given = {env_name(key): value for key, value in eased.items() if key not in loaded.sources}
    given[env_name(("telemetry", "log_format"))] = "json"
    given[env_name(("process", "admin_port"))] = str(kind.admin_port)
    if kind.port is not None:
        given[env_name((kind.name, "port"))] = str(kind.port)
    return given
