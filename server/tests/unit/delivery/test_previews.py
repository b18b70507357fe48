"""The preview of a message in a chat row."""

import pytest
from msgspec.structs import replace
from unit.delivery.scenarios import USERS, EntryScenario

from tidings.delivery.chat_rows import truncate, with_preview
from tidings.delivery.rules import PreviewCandidate
from tidings.messages.model import Entry
from tidings.schema.tables.limits import PREVIEW_BYTES


def a_message() -> Entry:
    scenario = EntryScenario()
    scenario.say(USERS[0], expires=False)
    return scenario.log[0]


def test_a_preview_shows_the_text() -> None:
    found = with_preview(PreviewCandidate(1, 3, a_message()), b"sealed")
    assert (found.rank, found.preview, found.expires_at_s) == ((1, 3), b"sealed", None)


def test_a_redacted_message_shows_no_text_even_if_it_is_still_stored() -> None:
    found = with_preview(
        PreviewCandidate(1, 3, replace(a_message(), redacted_at_ms=5, visible_until_ms=9000)), b"sealed"
    )
    assert (found.preview, found.expires_at_s) == (None, None)


def test_a_message_that_expires_shows_none_and_never_ends_early() -> None:
    found = with_preview(PreviewCandidate(1, 1, replace(a_message(), visible_until_ms=9001)), b"sealed")
    assert (found.preview, found.expires_at_s) == (None, 10)


@pytest.mark.parametrize("text", ["", "short", "é" * 500, "😀" * 99, "a" + "😀" * 99])
def test_text_is_cut_between_characters(text: str) -> None:
    kept = truncate(text)
    assert text.startswith(kept.decode())
    assert len(kept) == len(text.encode()) or PREVIEW_BYTES - 4 < len(kept) <= PREVIEW_BYTES
