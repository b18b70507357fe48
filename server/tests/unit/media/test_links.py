"""Links in texts, and what pages say about themselves."""

import asyncio
import time

import pytest
from fixtures.loops import OfflineLoop
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidings.kernel.network_policy import NetworkPolicy
from tidings.media.links import MAX_TITLE_CHARS, LinkPreview, PageFacts, first_link, read_page
from tidings.media.store.links import GuardedLinkFetcher
from tidings.platform.guarded_http import open_guarded_session


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("see example.com", None),
        ("see https://example.com/a?b=1#part, soon", "https://example.com/a?b=1"),
        ("(https://example.com/a)", "https://example.com/a"),
        ("HTTPS://EXAMPLE.COM.", "HTTPS://EXAMPLE.COM"),
        ("https://one.example https://two.example", "https://one.example"),
        ("javascript:alert(1) file:///etc/passwd", None),
        ("https://example.com/" + "a" * 3_000, None),
    ],
)
def test_the_first_link_of_a_text(text: str, found: str | None) -> None:
    assert first_link(text) == found


def test_a_page_is_described_by_its_tags_for_previews() -> None:
    page = """<html><head><title>Old title</title>
      <meta content='The &amp; beach' property="og:title"/><META name="description" content="Sand
      and sun"><meta property="og:image" content="/beach.jpg#x"><script>var a = "<title>no</title>"</script>"""
    expected = PageFacts("The & beach", "Sand and sun", "https://example.com/beach.jpg")
    assert read_page(page, "https://example.com/a/b") == expected


def test_a_page_without_tags_for_previews_has_its_title() -> None:
    assert read_page("<title lang=en>\n The  beach </title>", "https://example.com") == PageFacts("The beach")
    assert read_page("no html", "https://example.com") == PageFacts()


def test_texts_are_short_and_without_control_characters() -> None:
    facts = read_page(f"<title>a\x00\x1b{'b' * 1_500}</title>", "https://example.com")
    assert len(facts.title) == MAX_TITLE_CHARS
    assert "\x00" not in facts.title


@pytest.mark.parametrize(
    "part",
    [
        "<meta ",
        "<meta a='",
        "<title>",
        "<",
        '<meta property="og:title" ',
        "=",
        '"',
        "<title ",
        "a",
        "a= ",
        f"<meta {'a' * 3_900}>",
    ],
)
def test_a_hostile_page_takes_no_longer_than_its_size(part: str) -> None:
    def took(size: int) -> float:
        began = time.process_time()
        read_page(part * (size // len(part)), "https://example.com")
        return time.process_time() - began

    # Linear: four times as much text takes about four times as long; quadratic would be sixteen.
    small = min(took(64_000) for _ in range(3))
    large = min(took(256_000) for _ in range(3))
    assert large < max(10 * small, 0.3)


@settings(deadline=None)
@given(text=st.builds("http{}".format, st.text(max_size=60)) | st.from_regex(r"\Ahttps?://[^\s<>]{1,60}\Z"))
@example(text="https://[x")
@example(text=f"https://{'a' * 64}.example")
@example(text="https://\u2102\u2215evil.example")
@example(text="https://xn--.example")
def test_no_link_of_a_message_raises_while_it_is_fetched(text: str) -> None:
    url = first_link(text)
    if url is None:
        return

    async def fetch() -> LinkPreview:
        network = NetworkPolicy.PUBLIC
        async with open_guarded_session(
            network, max_connections=1, timeout_s=5, headers={}, keeps_connections=False
        ) as session:
            return await GuardedLinkFetcher(session, network).fetch(url)

    with asyncio.Runner(loop_factory=OfflineLoop) as runner:
        assert runner.run(fetch()) == LinkPreview(url=url)
