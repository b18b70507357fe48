"""Words, queries, matches and highlights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.search import rules
from tidings.search.model import (
    ATTACHMENT_WORD,
    DocumentRemoval,
    Highlight,
    MessageRef,
    MessageText,
    QueryWord,
    SearchDocument,
    SearchQuery,
)

REF = MessageRef(ChatKey(TenantId("t"), ChatId("g1")), 7)


def message(
    text: str | None, *, at_ms: int = 1_000, sender: str = "anna", attachments: tuple[str, ...] = ()
) -> MessageText:
    entry = Entry(
        sequence=7,
        ordinal=6,
        kind=EntryKind.MESSAGE,
        sender=UserId(sender),
        client_key=ClientKey("k"),
        fingerprint=b"",
        created_at_ms=at_ms,
        attachments=attachments,
    )
    return MessageText(entry, text)


def query(text: str, **filters: object) -> SearchQuery:
    return SearchQuery(words=rules.parse_query(text), **filters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("Crème brûlée", ["creme", "brulee"]),
        ("cre\u0300me", ["creme"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("snake_case order-42 v1.5", ["snake", "case", "order", "42", "v1", "5"]),
        ("ﬁle ①", ["file", "1"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("Привет МИР", ["привет", "мир"]),
        ("👍 … !?", []),
        ("a" * 100, ["a" * 64]),
    ],
)
def test_words_are_folded_and_split(text: str, words: list[str]) -> None:
    assert [word.text for word in rules.split_words(text)] == words


@given(st.text())
def test_words_have_letters_and_digits_only_and_point_into_the_text(text: str) -> None:
    for word in rules.split_words(text):
        assert word.text.isalnum()
        assert 0 <= word.start < word.end <= len(text)


@given(st.text(min_size=1, max_size=100))
def test_a_message_is_found_by_its_own_text(text: str) -> None:
    words = [word.text for word in rules.split_words(text)]
    if 0 < len(set(words)) <= 16 and "*" not in text:
        assert rules.is_match(query(text), message(text))


def test_a_word_with_a_star_is_a_prefix() -> None:
    assert rules.parse_query("Lun* menu lun") == (
        QueryWord("lun", is_prefix=True),
        QueryWord("menu"),
        QueryWord("lun"),
    )


@pytest.mark.parametrize("text", ["", "…", "a*", "x" * 257, " ".join(f"w{n}" for n in range(17))])
def test_a_query_without_words_or_with_too_many_is_refused(text: str) -> None:
    with pytest.raises(TidingsError) as caught:
        rules.parse_query(text)
    assert caught.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize(
    ("asked", "is_match"),
    [
        (query("lunch"), True),
        (query("LUNCH today"), True),
        (query("lunch tomorrow"), False),
        (query("lun"), False),
        (query("lun*"), True),
        (query("lunch", sender=UserId("anna")), True),
        (query("lunch", sender=UserId("ben")), False),
        (query("lunch", before_ms=1_000), False),
        (query("lunch", before_ms=1_001), True),
        (query("lunch", after_ms=1_000), True),
        (query("lunch", after_ms=1_001), False),
    ],
)
def test_a_message_matches_if_it_passes_every_filter(asked: SearchQuery, is_match: bool) -> None:  # noqa: FBT001
    assert rules.is_match(asked, message("Lunch today?")) is is_match


def test_attachments_are_found_without_words() -> None:
    asked, with_file = SearchQuery(words=(), has_attachment=True), message("", attachments=("upload",))
    assert rules.is_match(asked, with_file)
    assert not rules.is_match(asked, message("has:attachment"))
    made = rules.index_change(REF, with_file, 9)
    assert isinstance(made, SearchDocument)
    assert made.words == (ATTACHMENT_WORD,)
    assert rules.index_change(REF, message(None, attachments=("upload",)), 9) == DocumentRemoval(REF, 9)
    assert ATTACHMENT_WORD not in {word.text for word in rules.split_words(ATTACHMENT_WORD)}


def test_a_message_without_text_never_matches() -> None:
    assert not rules.is_match(query("lunch"), message(None))


def test_a_document_has_sorted_words_without_repeats() -> None:
    made = rules.index_change(REF, message("b a b c"), 9)
    assert isinstance(made, SearchDocument)
    assert (made.words, made.version) == (("a", "b", "c"), 9)


@pytest.mark.parametrize("state", [None, message(None), message("👍")])
def test_a_message_without_words_is_removed(state: MessageText | None) -> None:
    assert rules.index_change(REF, state, 9) == DocumentRemoval(REF, 9)


def test_matches_are_highlighted_in_the_given_text() -> None:
    parts = rules.highlight(rules.parse_query("creme bru*"), "Une Crème brûlée?")
    assert parts == (
        Highlight("Une ", is_match=False),
        Highlight("Crème", is_match=True),
        Highlight(" ", is_match=False),
        Highlight("brûlée", is_match=True),
        Highlight("?", is_match=False),
    )


def test_an_extract_of_a_long_text_starts_before_the_first_match() -> None:
    text = "x " * 200 + "needle" + " y" * 200
    parts = rules.highlight(rules.parse_query("needle"), text)
    assert "".join(part.text for part in parts) in text
    assert sum(len(part.text) for part in parts) == 160
    assert Highlight("needle", is_match=True) in parts


@given(st.text(max_size=300), st.text(max_size=20))
def test_an_extract_is_a_part_of_the_text(text: str, word: str) -> None:
    parts = rules.highlight([QueryWord(each.text) for each in rules.split_words(word)], text)
    assert "".join(part.text for part in parts) in text


def test_newer_messages_have_a_higher_order() -> None:
    assert rules.order_of(REF, 5) < rules.order_of(REF, 6)
    assert rules.first_order_at(5) <= rules.order_of(REF, 5) < rules.first_order_at(6)
    assert rules.order_of(REF, 2**43 - 1) < 2**63
