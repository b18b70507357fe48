"""Import rules 3 to 5, for every subject that exists or will exist; import-linter checks the others.

The rules are a function over a table of imports, so that a test can show that each rule catches its violation.
"""

from collections.abc import Iterator, Mapping

import grimp
import pytest

NOT_SUBJECTS = {
    "kernel", "platform", "schema", "engines", "installation", "api", "gateway", "app", "cli", "dev", "doctor", "drills",
}  # fmt: skip
EDGES = {"api", "gateway"}
ENGINE_PACKAGES = {
    "aiohttp",
    "aiosmtplib",
    "botocore",
    "boto3",
    "confluent_kafka",
    "hiredis",
    "redis",
    "valkey",
}
ADAPTERS = {
    "store",
    "items",
    "log_store",
    "segment_store",
    "chunk_topic",
    "control_plane",
    "jwks_http",
    "providers",
    "oidc_http",
    "kms",
    "sns",
}
COMPOSITION = {"platform", "engines", "installation", "app", "cli", "dev", "doctor", "drills"}
EDGE_ADAPTERS = {"tidings.api.metrics", "tidings.gateway.metrics"}
"""Adapters of the edges' telemetry ports; only app imports them."""
SHARED_ROLES = {"model", "ports"}
SHARED_ADAPTERS = {
    # functions of the Redis registry, until platform translates Redis errors
    ("tidings.bus.store", "tidings.connections.store"),
    ("tidings.ephemeral.store", "tidings.connections.store"),
    ("tidings.delivery.store.checkpoints", "tidings.connections.store"),
    # the relay reads the log and the checkpoints that it repairs
    ("tidings.relay.store.publisher", "tidings.messages.store"),
    ("tidings.relay.store.publisher", "tidings.delivery.store.checkpoints"),
}
FRAMEWORKS = {"fastapi": {"tidings.api"}, "starlette": {"tidings.api"}, "pydantic": {"tidings.api"}}
SOCKETS = {"aiofastnet", "picows", "websockets"}
SOCKET_FILES = {
    "tidings.gateway.transport.picows_transport",
    "tidings.gateway.transport.websockets_transport",
}

type Imports = Mapping[str, set[str]]


def breaches(imports: Imports) -> Iterator[str]:
    for importer, imported in imports.items():
        for name in sorted(imported):
            if rule := broken_rule(importer, name):
                yield f"{importer} imports {name}: {rule}"


def broken_rule(importer: str, imported: str) -> str | None:
    return _broken_by_package(importer, imported.partition(".")[0]) or _broken_inside(importer, imported)


def _broken_by_package(importer: str, package: str) -> str | None:
    if package in FRAMEWORKS and not any(importer.startswith(place) for place in FRAMEWORKS[package]):
        return "5. the web framework appears in api only"
    if package in SOCKETS and not any(importer.startswith(place) for place in SOCKET_FILES):
        return "5. the socket libraries appear in their adapters only"
    if package in ENGINE_PACKAGES and not _is_adapter(importer):
        return "3. adapters alone touch an engine's package"
    return None


def _broken_inside(importer: str, imported: str) -> str | None:
    folder, target = _folder(importer), _folder(imported)
    if importer in EDGE_ADAPTERS:
        return None
    if folder in EDGES and (target == "platform" or _roles(imported) & ADAPTERS):
        return "5. edges never import adapters or platform"
    if _is_subject(folder) and target == "platform" and not _is_adapter(importer):
        return "3. adapters alone touch platform"
    if (
        _is_subject(folder)
        and _is_subject(target)
        and target != folder
        and not _roles(imported) & SHARED_ROLES
        and (importer, imported) not in SHARED_ADAPTERS
    ):
        return "4. of another subject only its model and ports"
    return None


def _folder(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "tidings" and len(parts) > 1 else ""


def _roles(module: str) -> set[str]:
    return set(module.split(".")[2:])


def _is_subject(folder: str) -> bool:
    return folder != "" and folder not in NOT_SUBJECTS


def _is_adapter(module: str) -> bool:
    return _folder(module) in COMPOSITION or module in EDGE_ADAPTERS or bool(_roles(module) & ADAPTERS)


def test_no_module_breaks_an_import_rule() -> None:
    graph = grimp.build_graph("tidings", include_external_packages=True)
    imports = {
        m: graph.find_modules_directly_imported_by(m) for m in graph.modules if m.startswith("tidings")
    }
    assert len(imports) > 30
    assert list(breaches(imports)) == []


@pytest.mark.parametrize(
    ("importer", "imported", "rule"),
    [
        ("tidings.messages.sender", "tidings.platform.dynamo", "3."),
        ("tidings.messages.sender", "botocore", "3."),
        ("tidings.schema.tables.diff", "botocore", "3."),
        ("tidings.accounts.verification_keys", "aiohttp", "3."),
        ("tidings.delivery.deliver", "tidings.messages.sender", "4."),
        ("tidings.delivery.store", "tidings.messages.store", "4."),
        ("tidings.api.messages", "tidings.messages.store", "5."),
        ("tidings.gateway.hub", "tidings.platform.redis", "5."),
        ("tidings.messages.sender", "fastapi", "5."),
        ("tidings.gateway.hub", "picows", "5."),
        ("tidings.gateway.transport.listener", "websockets", "5."),
    ],
)
def test_each_rule_catches_its_breach(importer: str, imported: str, rule: str) -> None:
    assert (broken_rule(importer, imported) or "").startswith(rule)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("tidings.messages.store", "tidings.platform.dynamo"),
        ("tidings.schema.tables.control_plane", "botocore"),
        ("tidings.accounts.jwks_http", "aiohttp"),
        ("tidings.delivery.deliver", "tidings.messages.model"),
        ("tidings.messages.sender", "tidings.messages.rules"),
        ("tidings.api.messages", "tidings.messages.sender"),
        ("tidings.gateway.transport.picows_transport", "picows"),
        ("tidings.app.wiring.engine_clients", "tidings.messages.store"),
    ],
)
def test_allowed_imports_pass(importer: str, imported: str) -> None:
    assert broken_rule(importer, imported) is None
