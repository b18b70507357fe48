"""One format of user ids: every id that can authenticate is accepted by every route, frame field and command."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Meta
from pydantic import TypeAdapter, ValidationError

from tidings.accounts.jwt import parse_claims
from tidings.accounts.rules import (
    CredentialRejectedError,
    check_device_id,
    check_new_user_id,
    check_user_id,
)
from tidings.api.app import app_for_schema
from tidings.api.schemas.api_model import USER_ID, UserInPath
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import USER_ID as PATTERN
from tidings.kernel.ids import TenantId
from tidings.schema.tables.items.chats import user_key
from tidings_wire import fields

_IN_PATH: TypeAdapter[str] = TypeAdapter(UserInPath)
_ANY = st.text(max_size=70) | st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7F), max_size=66)


def _is(check: Any, text: str, *errors: type[Exception]) -> bool:
    try:
        check(text)
    except errors:
        return False
    return True


def _sub(name: str) -> Any:
    return lambda text: parse_claims({"tenant": "acme", "sub": "anna", "aud": "x", "exp": 1, name: text})


@given(_ANY)
@example("Max Müller")
@example("max mustermann")
@example("max/../anna")
@example("a\nb")
@example("a\n")
@example("a\0b")
@example(".")
@example("..")
@example("...")
@example(".a")
@example("..-")
@example("auth0|65f")
@example("a@b.example")
@example("+4915112345678")
@example("x" * 64)
@example("x" * 65)
@example("a#b")
@example("a*")
def test_every_entry_point_accepts_the_same_ids(text: str) -> None:
    taken = {
        "sub": _is(_sub("sub"), text, CredentialRejectedError),
        "device": _is(_sub("device"), text, CredentialRejectedError),
        "field": _is(USER_ID.validate_python, text, ValidationError),
        "path": _is(_IN_PATH.validate_python, text, ValidationError),
        "frame": _is(lambda t: msgspec.convert(t, fields.UserName), text, msgspec.ValidationError),
        "frame device": _is(lambda t: msgspec.convert(t, fields.DeviceName), text, msgspec.ValidationError),
        "created": _is(check_user_id, text, TidingsError),
        "logged in": _is(check_device_id, text, TidingsError),
    }
    assert len(set(taken.values())) == 1, taken
    if taken["sub"]:
        assert user_key(TenantId("acme"), check_user_id(text))  # it can be part of a key


@pytest.mark.parametrize("text", ["Max Müller", "max/../anna", "a\nb", "a\0b", "..", "."])
def test_ids_that_no_path_can_carry_are_not_admitted(text: str) -> None:
    with pytest.raises(CredentialRejectedError):
        _sub("sub")(text)


def test_every_route_that_names_a_user_has_the_one_pattern() -> None:
    named = [
        parameter["schema"]
        for methods in app_for_schema().openapi()["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "path" and parameter["name"] == "user"
    ]
    assert len(named) > 8
    assert {schema["pattern"] for schema in named} == {PATTERN}


def test_every_frame_field_that_names_a_user_has_the_one_pattern() -> None:
    (meta,) = [each for each in get_args(fields.UserName) if isinstance(each, Meta)]
    assert meta.pattern is not None
    assert meta.pattern.startswith(PATTERN)


def test_no_user_is_created_with_the_form_of_a_pseudonym() -> None:
    pseudonym = "erased-" + "a" * 26
    assert check_user_id(pseudonym) == pseudonym
    with pytest.raises(TidingsError, match="pseudonyms of erased users"):
        check_new_user_id(pseudonym)
    assert check_new_user_id("erased-anna") == "erased-anna"
