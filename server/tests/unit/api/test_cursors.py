"""Cursors are encrypted, and valid for one caller and list only."""

from base64 import urlsafe_b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.api.request_parsing import CursorCipher, CursorScope
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.security import Secret

OLD, NEW = Secret("the secret of last year"), Secret("the secret of this year")
ACME, OTHER, ANNA, BEN = TenantId("acme"), TenantId("other"), UserId("anna"), UserId("ben")
CURSORS = CursorCipher([NEW])
OURS = CURSORS.of(ACME, ANNA, "members", "g1")


def refused(list_: CursorScope, cursor: str) -> Code:
    with pytest.raises(TidingsError) as caught:
        list_.read(cursor)
    return caught.value.code


def written(list_: CursorScope, position: str = "user-7") -> str:
    cursor = list_.write(position)
    assert cursor is not None
    return cursor


def test_a_cursor_is_decoded_unchanged() -> None:
    assert OURS.read(written(OURS)) == "user-7"
    assert OURS.write(None) is None
    assert OURS.read(None) is None


def test_a_cursor_does_not_show_its_position() -> None:
    """Every bit of a cursor depends on all of its position: those of equal length have nothing in common."""
    position = "1795081200000 g-secret 0001"
    cursors = [urlsafe_b64decode(written(OURS, f"{position}{end}") + "==") for end in "ab"]
    for cursor in cursors:
        assert not any(position[at : at + 3].encode() in cursor for at in range(len(position) - 2))
    common = sum(one == other for one, other in zip(*cursors, strict=True))
    assert common < len(cursors[0]) // 3


@given(st.text(max_size=300))
def test_every_position_is_read_as_it_was_written(position: str) -> None:
    assert OURS.read(written(OURS, position)) == position


@pytest.mark.parametrize(
    "theirs",
    [
        CURSORS.of(OTHER, ANNA, "members", "g1"),
        CURSORS.of(ACME, BEN, "members", "g1"),
        CURSORS.of(ACME, ANNA, "blocks", "g1"),
        CURSORS.of(ACME, ANNA, "members", "g2"),
        CURSORS.of(ACME, ANNA, "members"),
        CURSORS.of(TenantId("acmeanna"), UserId(""), "members", "g1"),
        CursorCipher([Secret("another installation's")]).of(ACME, ANNA, "members", "g1"),
    ],
)
def test_a_cursor_of_another_list_is_refused(theirs: CursorScope) -> None:
    assert refused(OURS, written(theirs)) is Code.CURSOR_INVALID


def test_every_altered_character_is_detected() -> None:
    cursor = written(OURS)
    for n, sign in enumerate(cursor[:-1]):
        altered = cursor[:n] + ("A" if sign != "A" else "B") + cursor[n + 1 :]
        assert refused(OURS, altered) is Code.CURSOR_INVALID


@pytest.mark.parametrize("text", ["", "x", "====", "ü", "a" * 500, "%00", "AAAAAAAAAAAAAAAAAAAAAA"])
def test_a_text_that_is_not_a_cursor_is_refused_in_the_same_way(text: str) -> None:
    assert refused(OURS, text) is Code.CURSOR_INVALID


def test_a_secret_is_replaced_without_breaking_pages_in_progress() -> None:
    before = CursorCipher([OLD]).of(ACME, ANNA, "members", "g1")
    after = CursorCipher([NEW, OLD]).of(ACME, ANNA, "members", "g1")
    assert after.read(written(before)) == "user-7"
    assert OURS.read(written(after)) == "user-7"
