"""Names of attachments in an archive are safe for every file system and open no script."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.exports.rules import MAX_NAME_CHARS, media_name

ULID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Urlaub am Meer.jpg", "Urlaub am Meer.jpg"),
        ("../../etc/passwd", "_._etc_passwd"),
        ("a.html", "a.html.txt"),
        ("a.HTML. ", "a.HTML.txt"),
        ("a.svg", "a.svg.txt"),
        ("CON", "CON"),
        ("", ""),
        ("a\u202egnp.exe", "agnp.exe.txt"),
        ("größe.pdf", "größe.pdf"),
    ],
)
def test_names_keep_what_is_safe(name: str, safe: str) -> None:
    assert media_name(ULID, name) == f"media/{ULID}-{safe}"


@given(st.text(max_size=300) | st.from_regex(r"[./\\:]{0,5}[a-z]{0,200}\.[a-z]{0,200}", fullmatch=True))
def test_every_name_is_one_short_component(name: str) -> None:
    made = media_name(ULID, name)
    folder, _, file = made.partition("/")
    assert folder == "media"
    assert not re.search(r'[/\\:*?"<>|\x00-\x1f]', file)
    assert not file.endswith((".", " "))
    assert len(file) <= len(ULID) + 1 + MAX_NAME_CHARS + len("..txt")
    assert file.encode()
