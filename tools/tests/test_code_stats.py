import ast
import json
import textwrap
from pathlib import Path

import pytest

from tools.code_stats import main, measure, table
from tools.import_graph import cycles, file_graph
from tools.late_hooks import late_hooks


def write(package: Path, sources: dict[str, str]) -> Path:
    for name, source in sources.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(textwrap.dedent(source))
    return package


def hooks(*sources: str) -> list[str]:
    trees = {f"app.m{number}": ast.parse(textwrap.dedent(source)) for number, source in enumerate(sources)}
    return [f"{hook.module}:{hook.line}" for hook in late_hooks(trees, "app")]


def test_files_lines_imports_comments_and_protocols_are_counted_by_folder(tmp_path: Path) -> None:
    package = write(
        tmp_path / "app",
        {
            "chats/model.py": """\
                import json
                from typing import (
                    Protocol,
                )

                # a reason
                x = 1  # another
                y = 2  # noqa: F841

                class Port(Protocol): ...
                """,
            "cli/run.py": "import app.chats.model\n",
        },
    )
    report = measure(package)
    assert set(report.folders) == {"chats", "cli"}
    chats = report.folders["chats"]
    assert (chats.files, chats.lines, chats.protocols) == (2, 10, 1)
    assert (chats.import_share, chats.comment_lines_per_100) == (40, 20)
    assert (report.whole.files, report.whole.lines, report.whole.import_share) == (4, 11, 45.45)


def test_skipped_folders_are_not_measured(tmp_path: Path) -> None:
    package = write(tmp_path / "app", {"a/x.py": "", "b/y.py": ""})
    assert set(measure(package, ["b"]).folders) == {"a"}


def test_public_objects_that_are_called_are_counted(tmp_path: Path) -> None:
    source = """\
        from typing import Protocol

        class Send:
            async def __call__(self, text): ...

        class Port(Protocol):
            def __call__(self): ...

        class _Private:
            def __call__(self): ...

        class Middleware:
            async def __call__(self, scope, receive, send): ...

        class Plain:
            def send(self): ...
        """
    assert measure(write(tmp_path / "app", {"a/x.py": source})).whole.call_objects == 1


def test_prose_hits_are_counted(tmp_path: Path) -> None:
    package = write(tmp_path / "app", {"a/x.py": '"""He is told."""\n', "b/y.py": '"""Send a message."""\n'})
    report = measure(package)
    assert (report.folders["a"].prose_hits, report.folders["b"].prose_hits) == (2, 0)


def test_cycles_between_folders_and_between_files_are_found(tmp_path: Path) -> None:
    package = write(
        tmp_path / "app",
        {
            "a/one.py": "from app.b import two\n",
            "b/two.py": "",
            "b/three.py": "def f():\n    from ..a.one import x\n",
            "c/four.py": "from . import five\n",
            "c/five.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import app.c.four\n",
            "d/six.py": "from app.a.one import x\n",
        },
    )
    report = measure(package)
    assert report.cycles == [["a", "b"], ["app.c.five", "app.c.four"]]
    assert report.whole.cycles == 2
    assert {name: stats.cycles for name, stats in report.folders.items()} == {"a": 1, "b": 1, "c": 1, "d": 0}


def test_a_cycle_through_three_names_is_one_and_a_chain_is_none() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"d"}}
    assert cycles(graph) == [["a", "b", "c"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_a_name_of_a_package_is_imported_from_the_package_and_a_module_is_the_module() -> None:
    trees = {
        "app": ast.parse(""),
        "app.a": ast.parse("from . import y"),
        "app.a.x": ast.parse("from app.a import NAME, y"),
        "app.a.y": ast.parse("from .x import z"),
    }
    graph = file_graph(trees, {"app", "app.a"})
    assert graph["app.a"] == {"app.a.y"}
    assert graph["app.a.x"] == {"app.a", "app.a.y"}
    assert graph["app.a.y"] == {"app.a.x"}


WORKER = """\
    from collections.abc import Callable
    from typing import Protocol

    class Store(Protocol): ...

    type OnProgress = Callable[[], None]

    class Worker:
        on_done: Callable[[], None]

        def __init__(self, store: Store, limit: int, progress: OnProgress) -> None:
            self.store = store
            self.limit = limit
            self.progress = progress
            self.left: Callable[[], None] = lambda: None
    """


def test_a_callback_or_collaborator_that_is_assigned_from_outside_is_a_late_hook() -> None:
    wiring = """\
        class Node:
            def wire(self):
                self.worker.left = self.leave
                self.worker.on_done = lambda: None
                self.worker.store = self._store
                self.worker.progress = report
                self.worker.limit = limit
                self.worker.left = make_hook()
        """
    assert hooks(WORKER, wiring) == ["app.m1:3", "app.m1:4", "app.m1:5", "app.m1:6"]


def test_a_setter_is_a_late_hook_and_a_constructor_is_none() -> None:
    source = """\
        class Lane:
            def __init__(self, on_done: "Callable[[], None]", size: int) -> None:
                self.on_done = on_done
                self.size = size

            def bind(self, on_done):
                self.on_done = on_done

            def resize(self, size):
                self.size = size
        """
    assert hooks(source) == ["app.m0:7"]


def test_a_function_that_replaces_a_method_of_an_imported_class_is_a_late_hook() -> None:
    source = """\
        import sys
        from app.hub import Hub

        def send(self): ...

        Hub.send = send
        sys.excepthook = send
        """
    assert hooks(source) == ["app.m0:6"]


def test_data_of_the_same_name_is_no_hook() -> None:
    source = """\
        class Row:
            left: int

        def update(row, left):
            row.left = left
        """
    assert hooks(WORKER, source) == []


def test_the_command_prints_a_table_and_one_line_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = write(tmp_path / "app", {"a/x.py": "from app.b.y import z\n", "b/y.py": "import app.a.x\n"})
    assert main([str(package)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("|")[1].strip() == "folder"
    assert "import cycle: a ↔ b" in lines
    figures = json.loads(lines[-1])
    assert list(figures) == [
        *("files", "lines", "import_share", "protocols", "call_objects", "late_hooks"),
        *("comment_lines_per_100", "cycles", "prose_hits", "folders"),
    ]
    assert figures["cycles"] == 2
    assert figures["folders"]["a"]["files"] == 2


def test_the_table_is_markdown(tmp_path: Path) -> None:
    rows = table(measure(write(tmp_path / "app", {"a/x.py": ""}))).splitlines()
    assert len({len(row) for row in rows}) == 1
    assert all(row.startswith("| ") and row.endswith(" |") for row in rows)
