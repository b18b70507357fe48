"""Random secrets, and a search for them in any bytes."""

import re
import secrets
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_WORD_CHARS: Final = 24
_PART_CHARS: Final = 10
_RUN: Final = re.compile(rb"[a-z2-7]{%d,}" % _PART_CHARS)

# Files of a search index are compressed: letters of one script are packed, and repeated bytes are references. Most parts
# of a random word with letters of many scripts are stored as they are.
_LETTERS: Final = [
    letter
    # Digits, and Latin, Greek, Cyrillic, Armenian, Hebrew and Arabic letters.
    for first, last in (
        (48, 57),
        (97, 122),
        (945, 969),
        (1072, 1103),
        (1377, 1414),
        (1488, 1514),
        (1575, 1610),
    )
    for letter in map(chr, range(first, last + 1))
    if letter.isalnum() and unicodedata.normalize("NFKD", letter).casefold() == letter
]
_PART_LETTERS: Final = 5


def random_word() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_WORD_CHARS))


def mixed_word() -> str:
    """Return a random word of many scripts, which can be found in the files of a search index."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_WORD_CHARS))


def words_in_files(content: bytes, words: Iterable[str]) -> set[str]:
    """Return the mixed words of which any part is in the files of an index."""
    return {
        word
        for word in words
        if any(
            word[at : at + _PART_LETTERS].encode() in content for at in range(len(word) - _PART_LETTERS + 1)
        )
    }


@dataclass(frozen=True, slots=True)
class PlantedSecret:
    """One secret. `text` is what is searched; `mixed` is a second word of a message, for the files of an index."""

    kind: str
    text: bytes
    mixed: str = ""

    @classmethod
    def random(cls, kind: str, *, is_indexed: bool = False) -> "PlantedSecret":
        return cls(kind, random_word().encode(), mixed_word() if is_indexed else "")

    @property
    def word(self) -> str:
        return self.text.decode()

    @property
    def message(self) -> str:
        """The text of a message with the secret."""
        return f"{self.word} {self.mixed}"


@dataclass
class SecretIndex:
    """Finds secrets in bytes. Of a random word, ten characters are enough: a compressed file may have only a part."""

    planted: Collection[PlantedSecret]
    _parts: dict[bytes, PlantedSecret] = field(default_factory=dict)
    _others: Sequence[PlantedSecret] = ()

    def __post_init__(self) -> None:
        random = [each for each in self.planted if _RUN.fullmatch(each.text)]
        self._others = [each for each in self.planted if each not in random]
        for each in random:
            for at in range(len(each.text) - _PART_CHARS + 1):
                self._parts[each.text[at : at + _PART_CHARS]] = each

    def found_in(self, data: bytes) -> set[PlantedSecret]:
        found = {each for each in self._others if each.text in data}
        parts = self._parts
        for run in _RUN.finditer(data):
            text = run[0]
            for at in range(len(text) - _PART_CHARS + 1):
                if (secret := parts.get(text[at : at + _PART_CHARS])) is not None:
                    found.add(secret)
        return found
