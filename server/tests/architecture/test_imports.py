"""Rules 3 to 5 of who may import whom, for every subject that is or will be; import-linter has the rest.

The rules are a function over a table of imports, so that each can be shown to catch its breach.
"""

from collections.abc import Iterator, Mapping

import grimp
import pytest

NOT_SUBJECTS = {"kernel", "wire", "platform", "tables", "topics", "engines", "api", "gateway", "run"}
EDGES = {"api", "gateway"}
ENGINE_PACKAGES = {"aiohttp", "botocore", "boto3", "confluent_kafka", "hiredis", "redis", "valkey"}
ADAPTERS = {"store", "directory", "control", "jwks_http", "kms_aws", "kms_file", "sms_console", "sms_sns"}
SHARED_ROLES = {"model", "ports"}
FRAMEWORKS = {"fastapi": {"tidings.api"}, "starlette": {"tidings.api"}, "pydantic": {"tidings.api"}}
SOCKETS = {"aiofastnet", "picows", "websockets"}
SOCKET_FILES = {"tidings.gateway.socket.by_picows", "tidings.gateway.socket.by_websockets"}

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
    if folder in EDGES and (target == "platform" or _role(imported) in ADAPTERS):
        return "5. edges never import adapters or platform"
    if _is_subject(folder) and target == "platform" and not _is_adapter(importer):
        return "3. adapters alone touch platform"
    if (
        _is_subject(folder)
        and _is_subject(target)
        and target != folder
        and _role(imported) not in SHARED_ROLES
    ):
        return "4. of another subject only its model and ports"
    return None


def _folder(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "tidings" and len(parts) > 1 else ""


def _role(module: str) -> str:
    parts = module.split(".")
    return parts[2] if len(parts) > 2 else ""


def _is_subject(folder: str) -> bool:
    return folder != "" and folder not in NOT_SUBJECTS


def _is_adapter(module: str) -> bool:
    return _folder(module) in {"platform", "run", "engines"} or _role(module) in ADAPTERS


def test_nobody_imports_what_he_may_not() -> None:
    graph = grimp.build_graph("tidings", include_external_packages=True)
    imports = {
        m: graph.find_modules_directly_imported_by(m) for m in graph.modules if m.startswith("tidings")
    }
    assert len(imports) > 30
    assert list(breaches(imports)) == []


@pytest.mark.parametrize(
    ("importer", "imported", "rule"),
    [
        ("tidings.messages.send", "tidings.platform.dynamo", "3."),
        ("tidings.messages.send", "botocore", "3."),
        ("tidings.tables.diff", "botocore", "3."),
        ("tidings.accounts.jwks", "aiohttp", "3."),
        ("tidings.delivery.deliver", "tidings.messages.send", "4."),
        ("tidings.delivery.store", "tidings.messages.store", "4."),
        ("tidings.api.messages", "tidings.messages.store", "5."),
        ("tidings.gateway.hub", "tidings.platform.redis", "5."),
        ("tidings.messages.send", "fastapi", "5."),
        ("tidings.gateway.hub", "picows", "5."),
        ("tidings.gateway.socket.listener", "websockets", "5."),
    ],
)
def test_each_rule_catches_its_breach(importer: str, imported: str, rule: str) -> None:
    assert (broken_rule(importer, imported) or "").startswith(rule)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("tidings.messages.store", "tidings.platform.dynamo"),
        ("tidings.tables.control", "botocore"),
        ("tidings.accounts.jwks_http", "aiohttp"),
        ("tidings.delivery.deliver", "tidings.messages.model"),
        ("tidings.messages.send", "tidings.messages.rules"),
        ("tidings.api.messages", "tidings.messages.send"),
        ("tidings.gateway.socket.by_picows", "picows"),
        ("tidings.run.wiring", "tidings.messages.store"),
    ],
)
def test_what_is_right_is_allowed(importer: str, imported: str) -> None:
    assert broken_rule(importer, imported) is None
