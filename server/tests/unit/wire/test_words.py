"""The wire has words and bounds of its own, because it imports no subject; here they are held against the subjects'."""

from typing import get_args

from tidings.gateway.error_frames import ERROR_TEXTS, HIDDEN
from tidings.kernel.errors import Code
from tidings.messages import change, content, history, send
from tidings.messages.model import EntryKind
from tidings.wire import bounds
from tidings.wire.fields import EntryKindName, EntryStateName


def test_kinds_and_states_are_those_of_the_log() -> None:
    assert set(get_args(EntryKindName)) == {kind.value for kind in EntryKind}
    assert set(get_args(EntryStateName)) == {state.value for state in history.ContentState}


def test_bounds_are_those_of_the_use_cases() -> None:
    assert bounds.MAX_MENTIONS == content.MAX_MENTIONS
    assert bounds.MAX_TTL_SECONDS == send.MAX_TTL_S
    assert bounds.MAX_PAGE == history.MAX_LIMIT
    assert bounds.MAX_EMOJI_CHARS == change.MAX_EMOJI_BYTES
    assert bounds.MAX_TEXT_CHARS == content.MAX_CONTENT_BYTES
    assert bounds.MAX_FRAME_DEPTH >= 2 + content.MAX_DATA_DEPTH


def test_every_error_code_has_its_place_on_the_socket() -> None:
    assert set(ERROR_TEXTS) | HIDDEN == set(Code)
    assert not set(ERROR_TEXTS) & HIDDEN
