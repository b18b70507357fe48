"""Find the words and links of a tenant's lists in a text. Pure, and linear in the length of the text.

Words are literal: there are no patterns, so no list can make a match slow. The automaton of Aho and Corasick reads each
character once, whatever the number of words.
"""

import unicodedata
from collections import deque
from typing import Final, NamedTuple

from tidings.tenants.model import ContentRules

MASK: Final = "*"
_MAX_LABELS: Final = 6
"""A listed domain has at most this many labels, so only the last labels of a host are compared."""
_IGNORED: Final = frozenset({"Mn", "Me", "Cf"})
"""Categories of characters that are not seen, such as accents and zero-width joiners."""


class ContentVerdict(NamedTuple):
    """`text`: with masked parts. `is_refused`: a listed word or link refuses the message. `is_flagged`: moderators see it."""

    text: str
    is_refused: bool = False
    is_flagged: bool = False


class _Found(NamedTuple):
    """A word ends at a position: its length, and what happens to the message."""

    length: int
    action: str


class _State:
    __slots__ = ("found", "next", "on_mismatch")

    def __init__(self) -> None:
        self.next: dict[str, _State] = {}
        self.on_mismatch: _State | None = None
        self.found: tuple[_Found, ...] = ()


class ContentMatcher:
    """The lists of a tenant, compiled. It does not change and may be shared."""

    def __init__(self, rules: ContentRules) -> None:
        self._start = _State()
        for word in rules.words:
            normalized = "".join(letter for letter, _ in normalize(word.text))
            if normalized:
                self._add(normalized, word.action)
        self._link()
        self._domains = {domain.text.casefold(): domain.action for domain in rules.domains}

    def check(self, text: str) -> ContentVerdict:
        letters = normalize(text)
        masked: list[tuple[int, int]] = []
        is_flagged = False
        for begin, end, action in (*self._words(letters), *self._links(letters)):
            if action == "refuse":
                return ContentVerdict(text, is_refused=True)
            if action == "flag":
                is_flagged = True
            else:
                masked.append((letters[begin][1], letters[end - 1][1] + 1))
        return ContentVerdict(_masked(text, masked), is_flagged=is_flagged)

    def _add(self, word: str, action: str) -> None:
        state = self._start
        for letter in word:
            state = state.next.setdefault(letter, _State())
        state.found = (*state.found, _Found(len(word), action))

    def _link(self) -> None:
        """Set the state that follows a mismatch, breadth-first, and add the shorter words that end there too."""
        waiting = deque[_State]()
        for state in self._start.next.values():
            state.on_mismatch = self._start
            waiting.append(state)
        while waiting:
            state = waiting.popleft()
            for letter, following in state.next.items():
                other = state.on_mismatch
                while other is not None and letter not in other.next:
                    other = other.on_mismatch
                following.on_mismatch = self._start if other is None else other.next[letter]
                following.found += following.on_mismatch.found
                waiting.append(following)

    def _words(self, letters: list[tuple[str, int]]) -> list[tuple[int, int, str]]:
        """Return the listed words that have no letter or digit before or after them."""
        state, found = self._start, list[tuple[int, int, str]]()
        for at, (letter, _) in enumerate(letters):
            while letter not in state.next and state.on_mismatch is not None:
                state = state.on_mismatch
            state = state.next.get(letter, self._start)
            for length, action in state.found:
                begin, end = at + 1 - length, at + 1
                if _is_edge(letters, begin - 1) and _is_edge(letters, end):
                    found.append((begin, end, action))
        return found

    def _links(self, letters: list[tuple[str, int]]) -> list[tuple[int, int, str]]:
        """Return hosts of listed domains and of their subdomains. A host need not have a scheme before it."""
        found, begin = list[tuple[int, int, str]](), 0
        if not self._domains:
            return found
        for at in range(len(letters) + 1):
            if at < len(letters) and _is_of_host(letters[at][0]):
                continue
            host = "".join(letter for letter, _ in letters[begin:at])
            action = self._domain(host.strip(".-"))
            if action is not None:
                found.append((begin, at, action))
            begin = at + 1
        return found

    def _domain(self, host: str) -> str | None:
        labels = host.split(".")[-_MAX_LABELS:]
        for first in range(len(labels) - 1):
            action = self._domains.get(".".join(labels[first:]))
            if action is not None:
                return action
        return None


def normalize(text: str) -> list[tuple[str, int]]:
    """Return the letters to compare, each with its place in the text: compatible forms, no case, no accents."""
    return [
        (letter, at)
        for at, character in enumerate(text)
        for letter in unicodedata.normalize("NFKD", character).casefold()
        if unicodedata.category(letter) not in _IGNORED
    ]


def _is_edge(letters: list[tuple[str, int]], at: int) -> bool:
    return not 0 <= at < len(letters) or not letters[at][0].isalnum()


def _is_of_host(letter: str) -> bool:
    return letter.isalnum() or letter in ".-"


def _masked(text: str, parts: list[tuple[int, int]]) -> str:
    if not parts:
        return text
    characters = list(text)
    for begin, end in parts:
        characters[begin:end] = MASK * (end - begin)
    return "".join(characters)
