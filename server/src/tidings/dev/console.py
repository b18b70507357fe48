"""Print the log lines of the processes in a short form for developers.

A line that is not JSON, such as a traceback on stderr, is printed unchanged.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

from rich.console import Console
from rich.text import Text

from tidings.engines.process import open_log

COLOURS = ("cyan", "magenta", "green", "blue", "bright_yellow", "bright_cyan", "bright_magenta")
_LEVELS = {"debug": "dim", "info": "dim", "warning": "yellow", "error": "bold red", "critical": "bold red"}
# shown elsewhere on the line, or useful to programs only
_UNSHOWN = frozenset(
    {"time", "level", "event", "process", "instance", "source", "exception", "stack"}
    | {"trace_id", "span_id", "request_id", "pid", "loop", "admin_host", "reuse_port", "components"}
)
# a dozen of them at every start and stop; the log file has them
_QUIET = frozenset({"component started", "component stopped"})
_VALUE_CHARACTERS = 160
_FRAMES = 3


class LogSource(NamedTuple):
    name: str
    colour: str
    width: int
    """The length of the longest name, so that the messages are aligned."""


def log_sources(names: list[str]) -> dict[str, LogSource]:
    width = max(map(len, names))
    return {name: LogSource(name, COLOURS[n % len(COLOURS)], width) for n, name in enumerate(names)}


def parse_log_line(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "event" in found else None


def is_quiet(line: str) -> bool:
    entry = parse_log_line(line)
    return entry is not None and entry["event"] in _QUIET and entry.get("level") == "info"


def is_request(line: str) -> bool:
    entry = parse_log_line(line)
    return entry is not None and entry["event"] == "request"


def format_entry(line: str, source: LogSource) -> Text:
    entry = parse_log_line(line)
    if entry is None:
        return format_line(source, Text(line))
    level = str(entry.get("level", "info"))
    style = _LEVELS.get(level, "")
    text = Text.assemble((f"{level:<8}", style), (str(entry["event"]), style if style != "dim" else ""))
    for name, value in entry.items():
        if name not in _UNSHOWN and value is not None:
            text.append(f"  {name}=", "dim").append(_short(value))
    text.append(_error_text(entry), "red")
    return format_line(source, text, _time(entry.get("time")))


def format_line(source: LogSource, text: Text, when: datetime | None = None) -> Text:
    at = (when or datetime.now(UTC)).astimezone().strftime("%H:%M:%S")
    head = Text.assemble((f"{at} ", "dim"), (f"{source.name:<{source.width}} ", source.colour), ("│ ", "dim"))
    return head.append(text)


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"


def _error_text(entry: dict[str, Any]) -> str:
    """Return the error and its last frames; the log file has the complete traceback."""
    found = entry.get("exception")
    if isinstance(found, str):
        return "\n" + found
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return ""
    error = found[0]
    lines = [f"    {error.get('exc_type')}: {error.get('exc_value')}"]
    frames = [frame for frame in error.get("frames") or [] if isinstance(frame, dict)]
    lines += [f"      {f.get('filename')}:{f.get('lineno')} in {f.get('name')}" for f in frames[-_FRAMES:]]
    return "\n" + "\n".join(lines)


OURSELVES = "dev"


class DevConsole:
    def __init__(self, names: list[str], logs: Path, *, is_raw: bool) -> None:
        self._sources = log_sources([OURSELVES, *names])
        self._logs = logs
        self._files: dict[str, IO[str]] = {}
        self._is_raw = is_raw
        self.requests_unshown = 0
        """The number of requests to hide: `tidings dev` makes them itself to fill the tenant."""
        self._console = Console(stderr=is_raw, soft_wrap=True, highlight=False)
        self._status = self._console.status("")
        self._lines = Console(soft_wrap=True, highlight=False)

    def process_line(self, name: str, line: str) -> None:
        """Write a line of a process to its log file, and a short form to the terminal."""
        self._file(name).write(line + "\n")
        if self._is_raw:
            self._lines.out(line, highlight=False)
        elif self.requests_unshown and is_request(line):
            self.requests_unshown -= 1
        elif not is_quiet(line):
            self.replay(name, line)

    def replay(self, name: str, line: str) -> None:
        """Print a line that a process wrote earlier."""
        self._console.print(format_entry(line, self._sources[name]))

    def info(self, words: str, style: str = "") -> None:
        self._console.print(format_line(self._sources[OURSELVES], Text(words, style)))

    def print(self, words: str, style: str = "") -> None:
        """Print without time and name."""
        self._console.print(Text(words, style))

    @contextmanager
    def step(self, doing: str) -> Iterator[list[str]]:
        """Print a step of the start when it is done, with the texts that the caller appends to the list."""
        began, words = monotonic(), list[str]()
        with self._console.status(f"{doing} …") as self._status:
            yield words
        took = f"{monotonic() - began:.1f} s"
        self._console.print(
            Text.assemble(("✓ ", "green"), f"{doing:<10}", ", ".join(words), (f"  {took}", "dim"))
        )

    def progress(self, what: str, done: int, total: int) -> None:
        """Show the progress of the current step: the download, or the engine that is starting."""
        far = f" ({done * 100 // total} %)" if total else ""
        self._status.update(f"engines: {what}{far} …")

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _file(self, name: str) -> IO[str]:
        """Return the log file of a process. Each `tidings dev` starts new files."""
        if name not in self._files:
            self._files[name] = open_log(self._logs / f"{name}.log")
        return self._files[name]
