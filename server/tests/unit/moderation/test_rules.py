"""Words and links of a tenant's lists."""

import time

import pytest

from tidings.moderation.rules import ContentMatcher
from tidings.tenants.model import ContentRules, ListedTerm


def rules(*, mask: str = "", refuse: str = "", masked: str = "", refused: str = "") -> ContentRules:
    return ContentRules(
        words=(
            *(ListedTerm(text=word) for word in mask.split(",") if word),
            *(ListedTerm(text=word, action="refuse") for word in refuse.split(",") if word),
        ),
        domains=(
            *(ListedTerm(text=host) for host in masked.split(",") if host),
            *(ListedTerm(text=host, action="refuse") for host in refused.split(",") if host),
        ),
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("oh darn it", "oh **** it"),
        ("DARN!", "****!"),
        ("darned", "darned"),
        ("d\u200barn", "*****"),
        ("\uff44\uff41\uff52\uff4e", "****"),
        ("därn", "****"),
        ("darn darn", "**** ****"),
        ("what the heck", "*************"),
        ("the heck", "the ****"),
        ("", ""),
    ],
)
def test_listed_words_are_masked(text: str, shown: str) -> None:
    matcher = ContentMatcher(rules(mask="darn,heck,what the heck"))
    found = matcher.check(text)
    assert not found.is_refused
    assert found.text == shown


def test_a_word_inside_a_longer_listed_word_is_found() -> None:
    matcher = ContentMatcher(rules(mask="b c", refuse="a b c d"))
    assert matcher.check("a b c x").text == "a *** x"
    assert matcher.check("a b c d").is_refused


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("see https://bad.example/x", True),
        ("see www.bad.example.", True),
        ("BAD.EXAMPLE:8080", True),
        ("notbad.example", False),
        ("bad.example.org", False),
        ("bad example", False),
    ],
)
def test_listed_domains_and_their_subdomains_are_refused(text: str, *, is_refused: bool) -> None:
    assert ContentMatcher(rules(refused="bad.example")).check(text).is_refused is is_refused


def test_a_masked_link_keeps_the_rest_of_the_text() -> None:
    found = ContentMatcher(rules(masked="bad.example")).check("go to http://a.bad.example/x now")
    assert found.text == "go to http://*************/x now"


def test_the_time_grows_with_the_text_and_not_with_repetitions() -> None:
    """A text that nearly matches everywhere costs at most a few times as much as one that matches nowhere."""
    matcher = ContentMatcher(
        ContentRules(words=tuple(ListedTerm(text="a" * n + "b") for n in range(1, 40)), domains=())
    )

    def measure(text: str) -> float:
        took = []
        for _ in range(5):
            began = time.perf_counter()
            matcher.check(text)
            took.append(time.perf_counter() - began)
        return min(took)

    assert measure("a" * 4_000) < 20 * measure("z" * 4_000)


def test_a_flagged_word_stays_and_a_refused_one_decides() -> None:
    listed = ContentRules(
        words=(ListedTerm(text="casino", action="flag"), ListedTerm(text="darn")),
        domains=(
            ListedTerm(text="odd.example", action="flag"),
            ListedTerm(text="bad.example", action="refuse"),
        ),
    )
    matcher = ContentMatcher(listed)
    assert matcher.check("darn casino") == ("**** casino", False, True)
    assert matcher.check("see www.odd.example") == ("see www.odd.example", False, True)
    assert matcher.check("darn") == ("****", False, False)
    assert matcher.check("casino bad.example").is_refused
