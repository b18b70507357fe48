"""From a log line of a process to a short one for a person. Pure.

What is not JSON, such as a traceback on stderr, is shown as it came.
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
# said elsewhere on the line, or of use to machines only
_UNSHOWN = frozenset(
    {"time", "level", "event", "process", "instance", "source", "exception", "stack"}
    | {"trace_id", "span_id", "request_id", "pid", "loop", "admin_host", "reuse_port", "components"}
)
# a dozen of them at every start and stop; who wants them reads the file
_QUIET = frozenset({"component started", "component stopped"})
_VALUE_CHARACTERS = 160
_FRAMES = 3


class LogSource(NamedTuple):
    name: str
    colour: str
    width: int
    """Of the longest name, so that what is said stands below each other."""


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


def format_entry(line: str, speaker: LogSource) -> Text:
    entry = parse_log_line(line)
    if entry is None:
        return format_line(speaker, Text(line))
    level = str(entry.get("level", "info"))
    style = _LEVELS.get(level, "")
    text = Text.assemble((f"{level:<8}", style), (str(entry["event"]), style if style != "dim" else ""))
    for name, value in entry.items():
        if name not in _UNSHOWN and value is not None:
            text.append(f"  {name}=", "dim").append(_short(value))
    text.append(_trouble(entry), "red")
    return format_line(speaker, text, _time(entry.get("time")))


def format_line(speaker: LogSource, text: Text, when: datetime | None = None) -> Text:
    at = (when or datetime.now(UTC)).astimezone().strftime("%H:%M:%S")
    head = Text.assemble(
        (f"{at} ", "dim"), (f"{speaker.name:<{speaker.width}} ", speaker.colour), ("│ ", "dim")
    )
    return head.append(text)


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"


def _trouble(entry: dict[str, Any]) -> str:
    """The error and where it came from; the whole of it is in the log file."""
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
