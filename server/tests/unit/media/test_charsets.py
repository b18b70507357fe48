"""The character sets of pages."""

import encodings
import itertools
import pkgutil
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.media.charsets import CODECS, decode_page
from tidings.media.links import LinkPreview, PageFacts, read_page

HOSTILE = [bytes(range(256)), b"a", b"\x81", b"\xff", b"\x1b$B", b"\x80a", b"-", b"+", b"&#1;"]
SIZE = 256 * 1024
PYTHON_CODECS = sorted(each.name for each in pkgutil.iter_modules(encodings.__path__))


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        (None, "ä".encode(), "ä"),
        ("UTF-8", "ä".encode(), "ä"),
        (" Latin1 ", b"\xe4 \x80", "ä €"),
        ("windows-1251", "Пляж".encode("cp1251"), "Пляж"),
        ("shift_jis", "海辺①".encode("cp932"), "海辺①"),
        ("gb2312", "海滩镕".encode("gb18030"), "海滩镕"),
        ("euc-kr", "바닷가".encode("cp949"), "바닷가"),
        ("utf-16", "ä".encode("utf-16-le"), "ä"),
        ("punycode", b"a-b", "a-b"),
        ("utf-7", b"+AOQ-", "+AOQ-"),
        ("no-such", "ä".encode(), "ä"),
        ("idna", b"\xff", "\ufffd"),
        ("hex", b"6161", "6161"),
    ],
)
def test_a_page_is_decoded_in_a_character_set_of_the_web(charset: str | None, body: bytes, text: str) -> None:
    assert decode_page(body, charset) == text


def test_a_character_on_the_border_of_two_steps_is_whole() -> None:
    text = "海" * 20_000
    assert decode_page(text.encode(), "utf-8") == text
    assert decode_page(text.encode("cp932"), "sjis") == text


def test_no_character_set_takes_long() -> None:
    labels = {codec: label for label, codec in CODECS.items()}
    for charset, part in itertools.product([*labels.values(), *PYTHON_CODECS], HOSTILE):
        # CPU time: the machine may be busy. A quadratic codec takes some 10 s.
        began = time.process_time()
        decode_page(part * (SIZE // len(part)), charset)
        assert time.process_time() - began < 1, (charset, part)


@given(
    body=st.binary(max_size=400), charset=st.none() | st.sampled_from(sorted(CODECS)) | st.text(max_size=20)
)
def test_no_page_raises(body: bytes, charset: str | None) -> None:
    page = decode_page(b"<title>" + body + b"</title><meta property=og:image content='" + body, charset)
    facts = read_page(page, "https://example.com")
    assert isinstance(facts, PageFacts)
    assert msgspec.json.encode(LinkPreview(url="https://example.com", title=facts.title))
