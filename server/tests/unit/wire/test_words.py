"""The wire has words and bounds of its own, because it imports no subject; here they are held against the subjects'."""

from typing import get_args

from tidings.gateway.error_frames import ERROR_TEXTS, HIDDEN
from tidings.kernel.errors import Code
from tidings.messages import edits, history, sender
from tidings.messages.model import EntryKind
from tidings.wire import fields
from tidings.wire.fields import EntryKindName, EntryStateName


def test_kinds_and_states_are_those_of_the_log() -> None:
    assert set(get_args(EntryKindName)) == {kind.value for kind in EntryKind}
    assert set(get_args(EntryStateName)) == {state.value for state in history.ContentState}


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
