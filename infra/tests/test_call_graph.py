"""The call graph on a small package: what a process reaches through types, and what it does not."""

from pathlib import Path
from textwrap import dedent

import pytest

from infra.aws.call_graph import CallGraph, CodeIndex, argument, constant, read_types

CODE = dedent(
    """
    from typing import Protocol

    TABLE = "users"

    class Store(Protocol):
        def read(self) -> int: ...

    class Put:
        def __init__(self, *, table: str) -> None: ...

    class UserStore:
        def read(self) -> int:
            Put(table=TABLE)
            return 1
        def write(self) -> None: ...

    class OtherStore:
        def read(self) -> int:
            return 2
        def write(self) -> None: ...

    class Service:
        def __init__(self, store: Store) -> None:
            self._store = store
        def get(self) -> int:
            return self._store.read()

    class Router:
        def route(self, handler: object) -> object:
            return handler

    router = Router()

    @router.route
    def handler() -> None: ...

    def run_one() -> None:
        Service(UserStore()).get()

    def run_two() -> None:
        print(router)
    """
)


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> CodeIndex:
    folder = tmp_path_factory.mktemp("code")
    Path(folder / "sample_code.py").write_text(CODE)
    return CodeIndex(read_types(["sample_code"], [folder]), "sample_code")


def reached(code: CodeIndex, root: str) -> CallGraph:
    graph = CallGraph(code, frozenset({"sample_code.Put"}))
    graph.add(code.find(f"sample_code.{root}"), "test")
    return graph


def test_a_call_on_a_protocol_reaches_the_classes_in_use(code: CodeIndex) -> None:
    found = reached(code, "run_one").reached
    assert "sample_code.UserStore.read" in found
    assert "sample_code.UserStore.write" not in found
    assert "sample_code.OtherStore.read" not in found


def test_a_registered_function_is_reached_from_what_registers_it(code: CodeIndex) -> None:
    assert "sample_code.handler" in reached(code, "run_two").reached
    assert "sample_code.handler" not in reached(code, "run_one").reached


def test_the_table_of_a_transaction_is_read_from_its_constant(code: CodeIndex) -> None:
    [(place, call)] = reached(code, "run_one").calls
    assert place == "sample_code.UserStore.read"
    assert constant(argument(call, "table"), {"sample_code.TABLE": "users"}.get) == "users"
