"""The wire package imports no subject and has its own values and limits. They must equal those of the subjects."""

from typing import get_args

import msgspec
import pytest

from tidings.gateway.error_frames import ERROR_TEXTS, HIDDEN
from tidings.kernel.errors import Code
from tidings.kernel.ids import USER_ID, USER_ID_CHARS
from tidings.messages import edits, history, sender
from tidings.messages.model import EntryKind
from tidings_wire import fields
from tidings_wire.close_codes import CloseCode, close_code_for_error
from tidings_wire.codec import REQUEST_INVALID, UNKNOWN_REQUEST
from tidings_wire.frames.ephemeral import PresencePush
from tidings_wire.frames.history import Entry, EntryPush


def test_kinds_and_states_are_those_of_the_log() -> None:
    assert set(fields.ENTRY_KINDS) == {kind.value for kind in EntryKind}
    assert set(fields.ENTRY_STATES) == {state.value for state in history.ContentState}


def test_codes_and_the_rule_for_user_ids_are_those_of_the_server() -> None:
    assert {REQUEST_INVALID, UNKNOWN_REQUEST} == {Code.REQUEST_INVALID, Code.UNKNOWN_REQUEST}
    assert close_code_for_error(Code.CREDENTIAL_EXPIRED) is CloseCode.CREDENTIAL_EXPIRED
    assert close_code_for_error(Code.CREDENTIAL_INVALID) is CloseCode.CREDENTIAL_INVALID
    assert close_code_for_error(Code.FORBIDDEN) is CloseCode.FORBIDDEN
    assert get_args(fields.UserName)[1].pattern == USER_ID + r"(?!\n)"
    assert fields.MAX_ID_CHARS == USER_ID_CHARS


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (Entry, b'{"sequence":0,"by":"","at":-1,"kind":"poll","state":"moved","later":1}'),
        (EntryPush, b'{"sequence":1,"by":"","at":1,"chat":"a#b"}'),
        (PresencePush, b'{"user":"a b","status":"busy","at":-1}'),
    ],
)
def test_a_client_decodes_what_a_newer_server_sends(form: type[msgspec.Struct], text: bytes) -> None:
    """Bounds and values of answers and pushes are documented, and not checked by clients."""
    decoded = msgspec.json.decode(text, type=form)
    assert {"later": 1} | msgspec.to_builtins(decoded) == {"later": 1} | msgspec.json.decode(text)


def test_bounds_are_those_of_the_use_cases() -> None:
    assert fields.MAX_MENTIONS == sender.MAX_MENTIONS
    assert fields.MAX_TTL_SECONDS == sender.MAX_TTL_S
    assert fields.MAX_PAGE == history.MAX_LIMIT
    assert fields.MAX_EMOJI_CHARS == edits.MAX_EMOJI_BYTES
    assert fields.MAX_TEXT_CHARS == sender.MAX_CONTENT_BYTES
    assert fields.MAX_FRAME_DEPTH >= 2 + sender.MAX_DATA_DEPTH


def test_every_error_code_has_its_place_on_the_socket() -> None:
    assert set(ERROR_TEXTS) | HIDDEN == set(Code)
    assert not set(ERROR_TEXTS) & HIDDEN
