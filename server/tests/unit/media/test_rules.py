"""Names and headers of files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.media.rules import INLINE_TYPES, disposition, is_type_allowed, sanitize_name
from tidings.schema.tables.items.media import MAX_NAME_BYTES


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("beach.jpg", "beach.jpg"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\a\\b.txt", "b.txt"),
        (".htaccess", "htaccess"),
        ("a\r\nSet-Cookie: x", "aSet-Cookie_ x"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("...", "file"),
        ("ünïcode 1.pdf", "ünïcode 1.pdf"),
    ],
)
def test_names_are_sanitised(given_name: str, kept: str) -> None:
    assert sanitize_name(given_name) == kept


@given(st.text(max_size=400))
def test_every_name_becomes_one_that_is_safe_in_a_header_and_a_folder(name: str) -> None:
    kept = sanitize_name(name)
    assert 0 < len(kept.encode()) <= MAX_NAME_BYTES
    assert not set(kept) & set('/\\:*?"<>|\r\n\0')
    assert not kept.startswith(".")
    header = disposition(kept, is_inline=False)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') == 2


def test_types_that_can_contain_scripts_are_never_inline() -> None:
    assert not {t for t in INLINE_TYPES if "html" in t or "svg" in t or "xml" in t or "pdf" in t}


def test_a_list_of_types_may_have_whole_groups() -> None:
    assert is_type_allowed("image/png", ("image/*",))
    assert not is_type_allowed("text/html", ("image/*", "text/plain"))
    assert is_type_allowed("text/html", ())
