"""The client's frames agree with `protocol/`: with the golden frames byte by byte, with the schema otherwise."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidings_sdk import close_codes
from tidings_sdk.codec import Response, decode_frame, encode_request
from tidings_wire.close_codes import CloseCode
from tidings_wire.fields import PROTOCOL
from tidings_wire.frames.registry import PUSH_OF, REQUEST_OF
from tidings_wire.frames.structs import Body

PUBLISHED = Path(__file__).parents[2] / "protocol"
SCHEMA = json.loads((PUBLISHED / "frames.schema.json").read_text())
FROM_THE_FUTURE = {"connect_from_the_future", "push_from_the_future"}


def golden(file: str) -> pytest.MarkDecorator:
    samples = json.loads((PUBLISHED / "golden" / f"{file}.json").read_text())
    wanted = [one for one in samples if one["name"] not in FROM_THE_FUTURE]
    return pytest.mark.parametrize("one", wanted, ids=lambda one: one["name"])


@golden("requests")
def test_a_request_is_encoded_byte_by_byte(one: dict[str, Any]) -> None:
    form = REQUEST_OF[one["decoded"]["kind"]].body
    body = msgspec.convert(one["decoded"]["body"], form)
    written = one["text"].replace("\\u00e9", "é")  # this encoder writes no escape, which is equivalent
    assert encode_request(body, one["decoded"].get("id")) == written.encode()


@golden("answers")
def test_an_answer_is_decoded_completely(one: dict[str, Any]) -> None:
    got = decode_frame(one["text"])
    assert isinstance(got, Response)
    form = REQUEST_OF[one["decoded"].get("answers", "ping")].answer
    assert got.id == one["decoded"]["id"]
    assert json.loads(msgspec.json.encode(got.as_form(form))) == in_short(one)


@golden("pushes")
def test_a_push_is_decoded_completely(one: dict[str, Any]) -> None:
    got = decode_frame(one["text"])
    assert isinstance(got, PUSH_OF[one["decoded"]["kind"]].body)
    assert json.loads(msgspec.json.encode(got)) == in_short(one)


def in_short(one: dict[str, Any]) -> Any:
    """Return the body of the golden frame, without default values."""
    frame = json.loads(one["text"])
    return next(body for name, body in frame.items() if name != "id")


def test_a_push_of_an_unknown_type_is_ignored() -> None:
    assert decode_frame('{"weather":{"is":"fine"}}') is None


def test_every_request_and_push_is_known_and_the_level_is_the_same() -> None:
    assert set(REQUEST_OF) == set(SCHEMA["requests"])
    assert set(PUSH_OF) == set(SCHEMA["pushes"])
    assert SCHEMA["protocol"] == PROTOCOL


ASKED_BY_APPS = {kind.body for kind in REQUEST_OF.values() if kind.name != "connect"}
"""The client creates `connect` itself. The golden frames cover it."""


@pytest.mark.parametrize("form", sorted(ASKED_BY_APPS, key=str))
def test_requests_have_the_fields_and_bounds_of_the_schema(form: type[Body]) -> None:
    assert fields_of(form, with_bounds=True) == published(form, with_bounds=True)


@pytest.mark.parametrize(
    "form",
    sorted(
        {*(kind.body for kind in PUSH_OF.values()), *(kind.answer for kind in REQUEST_OF.values())}, key=str
    ),
)
def test_answers_and_pushes_have_the_fields_of_the_schema(form: type[Body]) -> None:
    assert fields_of(form, with_bounds=False) == published(form, with_bounds=False)


def fields_of(form: type[Body], *, with_bounds: bool) -> object:
    _, parts = msgspec.json.schema_components([form], ref_template="#/$defs/{name}")
    as_json = json.loads(msgspec.json.encode(parts[form.__name__]))
    return compared(as_json, with_bounds=with_bounds)


def published(form: type[Body], *, with_bounds: bool) -> object:
    return compared(SCHEMA["$defs"][form.__name__], with_bounds=with_bounds)


def compared(schema: dict[str, Any], *, with_bounds: bool) -> object:
    names = {
        name: (one if with_bounds else one.get("default", "-"))
        for name, one in schema["properties"].items()
        if name not in {"positions", "epoch"} or not with_bounds
    }
    return names, sorted(schema.get("required", []))


def test_close_codes_are_understood_by_their_ranges() -> None:
    for one in json.loads((PUBLISHED / "close_codes.json").read_text())["codes"]:
        assert close_codes.decide_reconnect(one["code"], "").is_terminal == (one["range"] == "terminal")


def test_the_codes_that_this_client_knows_by_name_are_published() -> None:
    codes = {one["code"] for one in json.loads((PUBLISHED / "error_codes.json").read_text())}
    assert codes >= {
        "position_too_old",
        "internal",
        "credential_invalid",
        "credential_expired",
        "not_a_member",
    }
    names = {
        one["name"]: one["code"] for one in json.loads((PUBLISHED / "close_codes.json").read_text())["codes"]
    }
    known = (
        "CREDENTIAL_EXPIRED",
        "CREDENTIAL_INVALID",
        "PROTOCOL_UNSUPPORTED",
        "SESSION_REVOKED",
        "FORBIDDEN",
    )
    assert {name: CloseCode[name] for name in known} == {n: names[n.lower()] for n in known}
