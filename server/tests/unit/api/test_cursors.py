"""Cursors are opaque, and valid for one caller and list only."""

import pytest

from tidings.api.request_parsing import CursorScope, CursorSigner
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.security import Secret

OLD, NEW = Secret("the secret of last year"), Secret("the secret of this year")
ACME, OTHER, ANNA, BEN = TenantId("acme"), TenantId("other"), UserId("anna"), UserId("ben")
CURSORS = CursorSigner([NEW])
OURS = CURSORS.of(ACME, ANNA, "members", "g1")


def refused(list_: CursorScope, cursor: str) -> Code:
    with pytest.raises(TidingsError) as caught:
        list_.read(cursor)
    return caught.value.code


def written(list_: CursorScope, position: str = "user-7") -> str:
    cursor = list_.write(position)
    assert cursor is not None
    return cursor


def test_a_cursor_is_decoded_unchanged_and_opaque() -> None:
    assert OURS.read(written(OURS)) == "user-7"
    assert OURS.write(None) is None
    assert OURS.read(None) is None
    assert "user-7" not in written(OURS)


@pytest.mark.parametrize(
    "theirs",
    [
        CURSORS.of(OTHER, ANNA, "members", "g1"),
        CURSORS.of(ACME, BEN, "members", "g1"),
        CURSORS.of(ACME, ANNA, "blocks", "g1"),
        CURSORS.of(ACME, ANNA, "members", "g2"),
        CURSORS.of(ACME, ANNA, "members"),
        CURSORS.of(TenantId("acmeanna"), UserId(""), "members", "g1"),
        CursorSigner([Secret("another installation's")]).of(ACME, ANNA, "members", "g1"),
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
    before = CursorSigner([OLD]).of(ACME, ANNA, "members", "g1")
    after = CursorSigner([NEW, OLD]).of(ACME, ANNA, "members", "g1")
    assert after.read(written(before)) == "user-7"
    assert OURS.read(written(after)) == "user-7"
