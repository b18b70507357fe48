"""Random requests to every operation of a real process: no server errors, and all responses match the document."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from e2e.conftest import Start
from e2e.schemathesis_driver import run_schemathesis
from e2e.seeded_tenant import seed_tenant
from fixtures.engines import Namespace
from fixtures.media_env import make_bucket
from fixtures.tables import Tables

from tidings.kernel.ids import TenantId
from tidings.limits.model import LimitKind

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[3] / "protocol/openapi.json").read_text())
OPERATIONS = {o["operationId"] for methods in DOCUMENT["paths"].values() for o in methods.values()}
BUCKETS = tuple(kind.value.upper() for kind in LimitKind)
NO_LIMITS = {f"TIDINGS_LIMITS_{name}_RATE": "100000/s" for name in BUCKETS} | {
    f"TIDINGS_LIMITS_{name}_BURST": "1000000" for name in BUCKETS
}


def test_every_operation_matches_its_openapi_description(
    start: Start, tables_local: Tables, space: Namespace, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = make_bucket(request.getfixturevalue("s3"), space)
    api = start(**NO_LIMITS, **settings, TIDINGS_SEARCH_ENGINE="tantivy")
    start(kind="delivery", **settings)
    seeded = seed_tenant(api, tables_local, TenantId(space.tenant), tmp_path)
    began = time.perf_counter()
    found = run_schemathesis(
        DOCUMENT, f"http://127.0.0.1:{api.api_port}", seeded, request.config.getoption("--examples")
    )
    for name, seen in sorted(found.answers.items()):
        print(f"{name:22}", *(f"{status}: {count:4}" for status, count in sorted(seen.items())), sep="  ")
    print(
        f"{sum(seen.total() for seen in found.answers.values())} requests, {time.perf_counter() - began:.0f} s"
    )
    print(*found.by_rule.items(), sep="\n")
    print(*found.faults, sep="\n")
    assert found.faults == [], f"{len(found.faults)} faults, printed above"
    assert found.answers.keys() == OPERATIONS
    assert found.without_success() == []
