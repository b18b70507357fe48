"""Check compose.yaml: its schema, and that its services, ports, settings and health checks are those of Tidings."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import yaml

from infra.generated import INFRA, ROOT
from tidings.app.processes.command import group as processes
from tidings.app.settings import Settings, production
from tidings.app.settings.loader import load
from tidings.app.wiring.options import ADMIN_PORTS
from tidings.kernel.errors import TidingsError

COMPOSE: Final = ROOT / "compose.yaml"
SCHEMA: Final = INFRA / "compose-spec.json"
"""The schema of the Compose specification, from the Go module github.com/compose-spec/compose-go/v2 at v2.16.2."""
_OWN: Final = "tidings"
_SETTINGS: Final = INFRA / "one-machine" / "tidings.toml"

type Service = Mapping[str, Any]


def compose_faults(path: Path = COMPOSE) -> list[str]:
    """Return what is wrong with the file."""
    found = yaml.safe_load(path.read_text())
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text()))
    if faults := [f"compose.yaml: {error.message}" for error in validator.iter_errors(found)]:
        return faults
    services: dict[str, Service] = found["services"]
    checks = (_process_faults, _setting_faults, _port_faults, _hardening_faults, _file_faults)
    return [f"compose.yaml: {fault}" for check in checks for fault in check(services)]


_NOT_IN_IMAGE = {"archive"}
"""Its extra, pyarrow, would add 165 MB."""


def _process_faults(services: dict[str, Service]) -> Iterator[str]:
    """Check that every kind of process has a service, with the health check of its admin port."""
    run = {str(each["command"][1]): name for name, each in services.items() if _runs_process(each)}
    wanted = processes.commands.keys() - _NOT_IN_IMAGE
    yield from (f"no service runs `tidings run {kind}`" for kind in sorted(wanted - run.keys()))
    for kind, name in run.items():
        if kind not in ADMIN_PORTS:
            yield f"{name}: there is no process {kind!r}"
        elif services[name]["healthcheck"]["test"] != ["CMD", "tidings-ready", str(ADMIN_PORTS[kind])]:
            yield f"{name}: the health check does not ask port {ADMIN_PORTS[kind]}"


def _runs_process(service: Service) -> bool:
    return str(service["image"]).startswith(f"{_OWN}:") and service.get("command", [""])[0] == "run"


def _setting_faults(services: dict[str, Service]) -> Iterator[str]:
    """Load the settings of each service of Tidings as the service itself does, with the file that it mounts."""
    for name, service in services.items():
        given = {key: str(value) for key, value in service.get("environment", {}).items()}
        if not str(service["image"]).startswith(f"{_OWN}:"):
            continue
        try:
            settings = load({**given, "TIDINGS_CONFIG": str(_SETTINGS)}, INFRA).settings
            for check in (
                production.dynamo_transport,
                production.kafka_transport,
                production.redis_transport,
            ):
                check(settings)
        except TidingsError as error:
            yield f"{name}: {error.message}"
        except ValueError as error:
            yield f"{name}: {error}"


def _port_faults(services: dict[str, Service]) -> Iterator[str]:
    """Check that engines listen where processes look for them, and that the proxy sends to the ports of the edges."""
    settings = Settings()
    environment = services["api"]["environment"]
    kafka = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].removeprefix("PLAINTEXT://")
    valkey = services["valkey"]["command"]
    redis = f"redis://{_after(valkey, '--bind')}:{_after(valkey, '--port')}"
    for variable, listens in (
        ("TIDINGS_KAFKA_BOOTSTRAP_SERVERS", kafka),
        ("TIDINGS_REDIS_URL", redis),
        ("TIDINGS_DYNAMO_ENDPOINT", f"http://127.0.0.1:{_one_machine_port()}"),
    ):
        if environment.get(variable) != listens:
            yield f"api: {variable} is {environment.get(variable)}, but the engine listens on {listens}"
    proxied = (INFRA / "one-machine" / "Caddyfile").read_text()
    for edge in (settings.api, settings.gateway, settings.console):
        if f"127.0.0.1:{edge.port}" not in proxied:
            yield f"proxy: nothing is sent to port {edge.port}"


def _after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def _one_machine_port() -> int:
    return int(tomllib.loads(_SETTINGS.read_text())["engines"]["dynamo_port"])


def _hardening_faults(services: dict[str, Service]) -> Iterator[str]:
    """Check privileges, roots and health checks. Kafka's image writes to its own root."""
    for name, service in services.items():
        if "profiles" in service:
            continue
        if service.get("cap_drop") != ["ALL"] or service.get("security_opt") != ["no-new-privileges:true"]:
            yield f"{name}: it keeps privileges"
        if service.get("cap_add", []) != (["NET_BIND_SERVICE"] if name == "proxy" else []):
            yield f"{name}: its added capabilities are not as declared"
        if name != "kafka" and service.get("read_only") is not True:
            yield f"{name}: its root is not read-only"
        if "ports" in service and name != "network":
            yield f"{name}: only `network` may open ports"
        if name not in {"network", "schema"} and "healthcheck" not in service:
            yield f"{name}: it has no health check"


def _file_faults(services: dict[str, Service]) -> Iterator[str]:
    for name, service in services.items():
        for volume in service.get("volumes", ()):
            source = str(volume).partition(":")[0]
            if source.startswith("./") and not (ROOT / source).exists():
                yield f"{name}: there is no file {source}"
