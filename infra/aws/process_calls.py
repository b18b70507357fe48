"""Which calls each process makes: derived from its code, and written to `process_calls.json`.

The file is the source of the policies. `just release-check` derives it again and compares.
"""

import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from mypy.nodes import Decorator, FuncDef

from infra.aws.call_graph import CallGraph, CodeIndex, argument, constant, read_types
from tidings.platform.dynamo.operations import Operation
from tidings.schema.tables.patterns import REGISTRY
from tidings.schema.tables.patterns.builders import Pattern

PROCESSES: Final = (
    "api",
    "archive",
    "console",
    "delivery",
    "gateway",
    "media",
    "notifications",
    "push",
    "relay",
    "search",
    "webhooks",
)
OPERATOR: Final = "operator"
"""All commands of `tidings`, except `run` and those for local engines."""
CALLS_FILE: Final = Path(__file__).parent / "process_calls.json"
_SERVER: Final = Path(__file__).parents[2] / "server" / "src"
_PATTERNS: Final = "tidings.schema.tables.patterns."
_LOCAL_COMMANDS: Final = ("dev", "docs", "engines")
_ACTIONS: Final = {
    f"tidings.platform.dynamo.requests.{name}": action
    for name, action in {
        "Put": "PutItem",
        "Update": "UpdateItem",
        "Delete": "DeleteItem",
        "Check": "ConditionCheckItem",
    }.items()
}
_CLIENTS: Final = (
    "tidings.accounts.sns.SnsSms.",
    "tidings.platform.dynamo.client.DynamoClient.describe",
    "tidings.platform.dynamo.streams.StreamsClient.",
    "tidings.platform.s3.client.S3Client.",
    "tidings.schema.tables.control_plane.TableControlPlane.",
    "tidings.tenants.kms.AwsKms.",
)


@dataclass(frozen=True, slots=True)
class ProcessCalls:
    """`transactions`: the actions of transactions on each table. `clients`: methods of clients of other services."""

    patterns: tuple[str, ...]
    transactions: Mapping[str, tuple[str, ...]]
    clients: tuple[str, ...]


def read_calls(path: Path = CALLS_FILE) -> dict[str, ProcessCalls]:
    return {
        process: ProcessCalls(
            tuple(each["patterns"]),
            {table: tuple(actions) for table, actions in each["transactions"].items()},
            tuple(each["clients"]),
        )
        for process, each in json.loads(path.read_text()).items()
    }


def render_calls(calls: Mapping[str, ProcessCalls]) -> str:
    return json.dumps({process: asdict(each) for process, each in calls.items()}, indent=1) + "\n"


def write_calls() -> None:
    CALLS_FILE.write_text(render_calls(derive_calls()))


def derive_calls() -> dict[str, ProcessCalls]:
    """Read the types of the server's code, and find what each process and the commands can reach. Takes minutes."""
    commands = [
        f"tidings.cli.{path.stem}"
        for path in sorted((_SERVER / "tidings" / "cli").glob("*.py"))
        if path.stem not in _LOCAL_COMMANDS and path.stem != "__init__"
    ]
    processes = [f"tidings.app.processes.{name}" for name in PROCESSES]
    code = CodeIndex(
        read_types([*processes, *commands], [_SERVER, _SERVER.parents[1] / "wire/src"]), "tidings"
    )
    return calls_of_processes(code, commands)


def calls_of_processes(code: CodeIndex, commands: list[str]) -> dict[str, ProcessCalls]:
    found = {}
    for name in PROCESSES:
        graph = CallGraph(code, frozenset(_ACTIONS))
        graph.add(code.find(f"tidings.app.processes.{name}.run_{name}"), name)
        found[name] = _calls(graph)
    graph = CallGraph(code, frozenset(_ACTIONS))
    for module in commands:
        for each in code.files[module].defs:
            if isinstance(each, FuncDef | Decorator):
                graph.add(each, OPERATOR)
    return found | {OPERATOR: _calls(graph)}


def _calls(graph: CallGraph) -> ProcessCalls:
    patterns = sorted({name for each in graph.reached for name in _pattern_names(each)})
    declared = {
        table
        for name in patterns
        if REGISTRY[name].operation is Operation.TRANSACT_WRITE_ITEMS
        for table in REGISTRY[name].tables
    }
    transactions: dict[str, set[str]] = {}
    for place, call in graph.calls:
        table = constant(argument(call, "table"), _value)
        if table is None:
            raise LookupError(f"{place}: the table of an action in a transaction is not a constant")
        # A store that never runs a transaction of this table in this process can still build its actions.
        if table in declared and (callee := getattr(call.callee, "node", None)):
            transactions.setdefault(table, set()).add(_ACTIONS[callee.fullname])
    return ProcessCalls(
        tuple(patterns),
        {table: tuple(sorted(actions)) for table, actions in sorted(transactions.items())},
        tuple(sorted(name for name in graph.reached if name.startswith(_CLIENTS) and "._" not in name)),
    )


def _pattern_names(fullname: str) -> list[str]:
    """Return the patterns in a variable: one, or all of a mapping."""
    module, _, name = fullname.removeprefix(_PATTERNS).partition(".")
    if not fullname.startswith(_PATTERNS) or not name.isupper() or module == "builders":
        return []
    value = _value(fullname)
    values = [value] if isinstance(value, Pattern) else value.values() if isinstance(value, Mapping) else []
    return [each.name for each in values if isinstance(each, Pattern)]


def _value(fullname: str) -> Any:  # noqa: ANN401 - of a module variable
    module, _, name = fullname.rpartition(".")
    return getattr(importlib.import_module(module), name)
