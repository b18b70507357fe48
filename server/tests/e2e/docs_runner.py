"""Run the commands of a documentation page and compare their output with the page."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$|^## ([^\n]*)$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_ANY = "…"

OURS = {"id", "request_id", "challenge", "session", "access_token", "refresh_token"}
"""Fields with random values. The part after the last dot, a sequence, is not random."""

_PROCESS = re.compile(r"^(\w+=\S+ )*tidings run \w+( --processes \d)?\n$")
_START_AND_STOP = """\
rm -f process.log # the shell starts the command and empties the file later
{command} > process.log 2>&1 &
PROCESS=$!
for attempt in $(seq 300); do grep -qs "process started" process.log && break; kill -0 $PROCESS || break; sleep 0.2; done
grep -q "process started" process.log || cat process.log
kill $PROCESS
wait $PROCESS
"""
READS = re.compile(r"^(grep|cat|curl|anna|ben|cleo) (?!.*(-X|--json|>|\| tee))")


@dataclass(slots=True)
class DocStep:
    """A block of commands and the output that the page shows below it."""

    title: str
    commands: str
    shown: list[tuple[str, str]] = field(default_factory=list)

    @property
    def script(self) -> str:
        """Return the commands. A process that runs until it is stopped is started and stopped; it must exit with 0."""
        if _PROCESS.match(self.commands):
            return _START_AND_STOP.format(command=self.commands.strip())
        return self.commands

    @property
    def only_reads(self) -> bool:
        """Whether the step may be repeated until it answers as shown: some effects are visible only after a delay."""
        return all(READS.match(line) for line in self.commands.splitlines())


def steps(page: str) -> list[DocStep]:
    found: list[DocStep] = []
    title = ""
    for language, text, heading in _FENCE.findall(page):
        if heading:
            title = heading
        elif language == "sh":
            found.append(DocStep(title, text))
        elif found:  # before the first command, a block is an example of a file
            found[-1].shown.append((language, text))
    return found


def differences(step: DocStep, output: str) -> list[str]:
    """Return the differences between the output and the page. Empty if the page is correct."""
    documents = list(_documents(output))
    shown = [json.loads(text) for language, text in step.shown if language == "json"]
    lines = [line for language, text in step.shown if language == "text" for line in text.splitlines()]
    found = [] if not shown or len(shown) == len(documents) else [f"{len(documents)} answers"]
    for n, (wanted, got) in enumerate(zip(shown, documents, strict=False)):
        found += _unlike(f"answer {n + 1}", wanted, got)
    return found + list(_missing(lines, output))


def _documents(output: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), output.find("{")
    while at >= 0:
        try:
            document, end = decoder.raw_decode(output, at)
        except ValueError:
            return
        yield document
        at = output.find("{", end)


def _missing(lines: list[str], output: str) -> Iterator[str]:
    """Yield the shown lines that the output does not have in order. `…` matches any text; blanks are collapsed."""
    rest = [" ".join(line.split()) for line in output.splitlines()]
    for line in lines:
        wanted = re.compile(".*".join(map(re.escape, " ".join(line.split()).split(_ANY))))
        at = next((n for n, got in enumerate(rest) if wanted.fullmatch(got)), None)
        if at is None:
            yield f"no line {line!r}"
        else:
            rest = rest[at + 1 :]


def _unlike(at: str, wanted: object, got: object) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(got, dict):
        # a field name can be an id, as in a map from users to times
        wanted, got = ({_steady("", name): each for name, each in it.items()} for it in (wanted, got))
        yield from (f"{at}.{name} is not there" for name in wanted.keys() - got.keys())
        yield from (f"{at}.{name} is not on the page" for name in got.keys() - wanted.keys())
        for name in wanted.keys() & got.keys():
            yield from _unlike(f"{at}.{name}", wanted[name], got[name])
    elif isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            yield f"{at} has {len(got)} items, {len(wanted)} on the page"
        for n, (one, other) in enumerate(zip(wanted, got, strict=False)):
            yield from _unlike(f"{at}[{n}]", one, other)
    elif _steady(at, wanted) != _steady(at, got):
        yield f"{at} is {got!r}, {wanted!r} on the page"


def _steady(at: str, value: object) -> object:
    """Return a value without the parts that differ from run to run."""
    if not isinstance(value, str):
        return value
    if at.rpartition(".")[2] in OURS:
        end = value.rpartition(".")[2]
        return f"{_ANY}.{end}" if end.isdecimal() else value if value.islower() else _ANY
    return _ULID.sub(_ANY, _TIME.sub(_ANY, value))
