"""The AsyncAPI document, checked by AsyncAPI's own parser, and its schemas, checked against the golden frames by ajv."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from fuzz.mutation import mutated

from tidings_wire.codec import DecodedRequest, InvalidFrame, decode
from tidings_wire.frames.registry import PUSHES, REQUEST_OF, REQUESTS
from tools.protocol import asyncapi, schema
from tools.protocol.samples.refused import REFUSED
from tools.protocol.samples.requests import Sample

PARSER = "@asyncapi/parser@3.6.3"
SCRIPT = Path(__file__).with_name("asyncapi_check.cjs")
WARNING = 1
BEYOND_SCHEMAS = {"two_places", "half_a_character", "number_out_of_range", "too_deep"}
"""Frames with errors that a schema cannot express, or that a JSON parser removes."""

BEYOND_SCHEMAS_IN_WORDS = ("nested more than", "Only one of", "got `float`")
"""The same errors as texts of the server. To a schema 1e5 is an integer."""

pytestmark = [
    pytest.mark.long,  # npm installs the parser
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is needed to install AsyncAPI's parser"),
]

type Document = dict[str, Any]
type Frames = list[tuple[str, Any]]


@pytest.fixture(scope="module")
def parser() -> Path:
    """Install the parser once, into the user's cache.

    Race: two test processes install it at the same time. Both install into a directory of their own, the first rename
    succeeds, and both use its result.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidings"
    home = cache / PARSER.replace("/", "-")
    if not home.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            _install(Path(fresh) / "parser")
            with suppress(OSError):
                (Path(fresh) / "parser").rename(home)
    return home / "node_modules"


def _install(into: Path) -> None:
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(into), PARSER]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def parsed(parser: Path, document: Document, frames: Frames) -> Document:
    done = subprocess.run(
        ["node", str(SCRIPT)],
        check=True,
        capture_output=True,
        timeout=120,
        input=json.dumps({"document": document, "frames": frames}).encode(),
        env={**os.environ, "NODE_PATH": str(parser)},
    )
    found: Document = json.loads(done.stdout)
    return found


def faults(found: Document) -> list[str]:
    return [f"{one['path']}: {one['message']}" for one in found["found"] if one["severity"] <= WARNING]


def examples(document: Document) -> Frames:
    messages = document["components"]["messages"]
    return [
        (name, one["payload"]) for name, message in messages.items() for one in message.get("examples", ())
    ]


def refused_frames() -> Frames:
    """Return the refused frames that are JSON and of one known kind."""
    return [found for one in REFUSED if one.name not in BEYOND_SCHEMAS and (found := _of_a_kind(one))]


def _of_a_kind(one: Sample) -> tuple[str, Any] | None:
    try:
        frame = msgspec.json.decode(one.data)
    except (ValueError, RecursionError):
        return None
    kinds = [name for name in frame if name in REQUEST_OF] if isinstance(frame, dict) else []
    return (schema.request_name(REQUEST_OF[kinds[0]]), frame) if len(kinds) == 1 else None


def mutated_frames() -> list[tuple[Sample, tuple[str, Any]]]:
    chance = Random(11)
    mutants = (Sample("", "", mutated(chance)) for _ in range(3_000))
    return [(one, frame) for one in mutants if (frame := _of_a_kind(one)) and not _has_twins(one)]


def _has_twins(one: Sample) -> bool:
    """Return whether a key occurs twice: parsers differ in which of the values they use."""
    lost = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal lost
        lost += len(pairs) - len({key for key, _ in pairs})

    json.loads(one.data, object_pairs_hook=count)
    return lost > 0


@pytest.fixture(scope="module")
def found(parser: Path) -> Document:
    """Run the parser once for all tests, because it takes seconds."""
    document = asyncapi.asyncapi_document()
    mutants = [frame for _, frame in mutated_frames()]
    return parsed(parser, document, [*examples(document), *refused_frames(), *mutants])


def test_the_parser_reports_no_problem_and_finds_every_operation(found: Document) -> None:
    assert faults(found) == []
    assert found["operations"] == len(REQUESTS) + len(PUSHES)
    assert found["messages"] == 2 * len(REQUESTS) + len(PUSHES) + 1


def test_golden_frames_match_their_schema_and_refused_frames_do_not(found: Document) -> None:
    good, bad = examples(asyncapi.asyncapi_document()), refused_frames()
    assert len(good) > 40
    assert len(bad) > 12
    verdicts = zip([*good, *bad], [True] * len(good) + [False] * len(bad), found["valid"], strict=False)
    assert [frame for frame, wanted, is_valid in verdicts if wanted is not is_valid] == []


def test_the_server_accepts_exactly_what_the_schema_allows(found: Document) -> None:
    mutants = mutated_frames()
    answers = [decode(one.data) for one, _ in mutants]
    assert 400 < sum(isinstance(answer, DecodedRequest) for answer in answers) < len(mutants) - 400
    for answer, (one, _), is_valid in zip(answers, mutants, found["valid"][-len(mutants) :], strict=True):
        if isinstance(answer, InvalidFrame) and is_valid:
            assert any(words in answer.message for words in BEYOND_SCHEMAS_IN_WORDS), (answer, one.data)
        else:
            assert isinstance(answer, DecodedRequest) is is_valid, one.data


def test_a_broken_reference_is_found(parser: Path) -> None:
    document = asyncapi.asyncapi_document()
    del document["components"]["schemas"]["Send"]
    assert faults(parsed(parser, document, [])) != []
