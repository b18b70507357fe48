"""The codec decodes and encodes the golden frames byte for byte."""

from pathlib import Path

import msgspec
import pytest

from tidings_wire.codec import DecodedRequest, InvalidFrame, decode, encode_push, encode_response
from tidings_wire.frames.registry import PUSH_OF, REQUEST_BY_BODY, REQUEST_OF, REQUESTS
from tidings_wire.frames.registry import PUSHES as PUSH_KINDS
from tidings_wire.frames.structs import ErrorBody
from tools.protocol.samples.refused import REFUSED
from tools.protocol.samples.requests import REQUESTS as REQUEST_SAMPLES
from tools.protocol.samples.requests import Sample
from tools.protocol.samples.to_device import ANSWERS, PUSHES

GOLDEN = Path(__file__).parents[3] / "protocol" / "golden"


def by_name(samples: tuple[Sample, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("one", samples, ids=lambda one: one.name)


@by_name(REQUEST_SAMPLES)
def test_a_golden_request_is_accepted(one: Sample) -> None:
    got = decode(one.data)
    assert isinstance(got, DecodedRequest), got
    assert one.name.startswith(REQUEST_BY_BODY[type(got.body)].name)


@by_name(REFUSED)
def test_a_bad_frame_is_refused_as_written(one: Sample) -> None:
    got = decode(one.data)
    assert isinstance(got, InvalidFrame), got
    assert got.code == one.code


@by_name(ANSWERS)
def test_an_answer_is_encoded_to_the_same_bytes(one: Sample) -> None:
    keys = msgspec.json.decode(one.data, type=dict[str, msgspec.Raw])
    form = REQUEST_OF[one.answers].answer if one.answers else ErrorBody
    body = msgspec.json.decode(keys["ok" if one.answers else "error"], type=form)
    assert encode_response(msgspec.json.decode(keys["id"]), body) == one.data


@by_name(tuple(one for one in PUSHES if one.name != "push_from_the_future"))
def test_a_push_is_encoded_to_the_same_bytes(one: Sample) -> None:
    ((name, raw),) = msgspec.json.decode(one.data, type=dict[str, msgspec.Raw]).items()
    assert encode_push(msgspec.json.decode(raw, type=PUSH_OF[name].body)) == one.data


def test_every_request_and_every_push_has_a_golden_frame() -> None:
    asked = {REQUEST_BY_BODY[type(got.body)].name for got in map(_taken, REQUEST_SAMPLES)}
    assert asked == {kind.name for kind in REQUESTS}
    pushed = {name for one in PUSHES for name in msgspec.json.decode(one.data)}
    assert pushed >= {kind.name for kind in PUSH_KINDS}


def test_every_frame_says_what_it_is_for() -> None:
    bodies = [kind.body for kind in (*REQUESTS, *PUSH_KINDS)]
    assert [body.__name__ for body in bodies if not (body.__doc__ or "").strip()] == []


def test_names_of_golden_frames_are_unique() -> None:
    names = [one.name for one in (*REQUEST_SAMPLES, *REFUSED, *ANSWERS, *PUSHES)]
    assert len(names) == len(set(names))


def test_the_golden_files_contain_the_exact_bytes() -> None:
    held = {
        one["name"]: one for path in GOLDEN.glob("*.json") for one in msgspec.json.decode(path.read_bytes())
    }
    for one in (*REQUEST_SAMPLES, *ANSWERS, *PUSHES):
        assert held[one.name]["text"].encode() == one.data
    assert "base64" in held["not_utf8"]


def _taken(one: Sample) -> DecodedRequest:
    got = decode(one.data)
    assert isinstance(got, DecodedRequest)
    return got
