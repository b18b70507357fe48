"""What `tidings dev` says: its own words, and the processes' lines, short and coloured or as they came.

With `raw` stdout is the processes' JSON alone, fit for a pipe, and our own words go to stderr.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import IO

from rich.console import Console
from rich.text import Text

from tidings.engines.process import open_log
from tidings.run.dev.lines import format_entry, format_line, is_quiet, is_request, log_sources

OURSELVES = "dev"


class DevConsole:
    def __init__(self, names: list[str], logs: Path, *, is_raw: bool) -> None:
        self._speakers = log_sources([OURSELVES, *names])
        self._logs = logs
        self._files: dict[str, IO[str]] = {}
        self._is_raw = is_raw
        self.requests_unshown = 0
        """So many requests are our own, made to fill the tenant: not what anybody wants to read."""
        self._words = Console(stderr=is_raw, soft_wrap=True, highlight=False)
        self._status = self._words.status("")
        self._lines = Console(soft_wrap=True, highlight=False)

    def process_line(self, name: str, line: str) -> None:
        """A line of a process: to its file whole, to the terminal short."""
        self._file(name).write(line + "\n")
        if self._is_raw:
            self._lines.out(line, highlight=False)
        elif self.requests_unshown and is_request(line):
            self.requests_unshown -= 1
        elif not is_quiet(line):
            self.replay(name, line)

    def replay(self, name: str, line: str) -> None:
        """A line that was heard, for people."""
        self._words.print(format_entry(line, self._speakers[name]))

    def info(self, words: str, style: str = "") -> None:
        self._words.print(format_line(self._speakers[OURSELVES], Text(words, style)))

    def print(self, words: str, style: str = "") -> None:
        """Without time and name: for what stands by itself."""
        self._words.print(Text(words, style))

    @contextmanager
    def step(self, doing: str) -> Iterator[list[str]]:
        """A step of the start, told when it is done; what is put into the list is said beside it."""
        began, words = monotonic(), list[str]()
        with self._words.status(f"{doing} …") as self._status:
            yield words
        took = f"{monotonic() - began:.1f} s"
        self._words.print(
            Text.assemble(("✓ ", "green"), f"{doing:<10}", ", ".join(words), (f"  {took}", "dim"))
        )

    def progress(self, what: str, done: int, total: int) -> None:
        """More of the step that is under way: what is fetched, who is waited for."""
        far = f" ({done * 100 // total} %)" if total else ""
        self._status.update(f"engines: {what}{far} …")

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _file(self, name: str) -> IO[str]:
        """One file a process, begun anew with each `tidings dev`."""
        if name not in self._files:
            self._files[name] = open_log(self._logs / f"{name}.log")
        return self._files[name]
