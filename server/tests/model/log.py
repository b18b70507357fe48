"""Shared by the models: a chat's log and its entries, membership at a sequence, and answers to clients.

A log is a tuple of numbers, the first for sequence 1; a `Cast` maps the numbers to entries.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

type Log = tuple[int, ...]

HOLE = -1
"""An empty sequence below an existing entry."""


class Kind(Enum):
    CREATE = "create"
    MESSAGE = "message"
    EDIT = "edit"
    JOIN = "join"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Entry:
    """`user` is the sender, or the user who joins or leaves; `content` represents the fingerprint of the content."""

    name: str
    kind: Kind
    user: str = ""
    key: str = ""
    content: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """Return the identity: entries with the same one are tries of one message. Client keys are per sender."""
        return (self.user, self.key)

    @property
    def needs_a_member(self) -> bool:
        return self.kind in {Kind.MESSAGE, Kind.EDIT}


CREATE = Entry("create", Kind.CREATE)
M = Entry("m", Kind.MESSAGE, user="u", key="k", content="hello")
M_OTHER = Entry("m-other", Kind.MESSAGE, user="u", key="k", content="changed")
EDIT = Entry("edit-m", Kind.EDIT, user="u", key="e", content="changed")
X = Entry("x", Kind.MESSAGE, user="w", key="k", content="hello")
Y = Entry("y", Kind.MESSAGE, user="w", key="y", content="more")
LEAVE = Entry("leave-u", Kind.LEAVE, user="u", key="l")
JOIN = Entry("join-u", Kind.JOIN, user="u", key="j")


@dataclass(frozen=True)
class Cast:
    """The entries that a model may have in a log; number 0 is `create`, which adds the first members."""

    entries: tuple[Entry, ...]
    members: frozenset[str] = frozenset({"u", "w"})

    def numbered(self, log: Log) -> Iterator[tuple[int, Entry]]:
        """Yield sequences and entries, without holes."""
        return ((n, self.entries[entry]) for n, entry in enumerate(log, 1) if entry != HOLE)

    def member_since(self, user: str, numbered: Iterable[tuple[int, Entry]]) -> int:
        """Return the first sequence of the interval that is open after these entries; 0 for a non-member."""
        since = 0
        for n, entry in numbered:
            if entry.kind is Kind.CREATE and user in self.members:
                since = n
            elif entry.user == user and entry.kind in {Kind.JOIN, Kind.LEAVE}:
                since = n if entry.kind is Kind.JOIN else 0
        return since

    def name(self, number: int) -> str:
        return "-" if number == HOLE else self.entries[number].name

    def show(self, log: Log) -> str:
        return "log: " + " ".join(map(self.name, log))


# Definite answers to a client. A positive number is an ack with its sequence.
NOTHING = 0
REFUSED = -1
CONFLICT = -2
NOT_WRITTEN = -3
CONTRADICTED = -4
WRONGLY_REFUSED = -5

PUT = -10
"""Not an answer: the checks allow a put at the next sequence."""

_WORDS = {
    NOTHING: "nothing",
    REFUSED: "'not a member'",
    CONFLICT: "'same key, other content'",
    NOT_WRITTEN: "'not written'",
    CONTRADICTED: "two different things",
    WRONGLY_REFUSED: "'not a member', wrongly",
}


def in_words(answer: int) -> str:
    return _WORDS.get(answer) or f"ack {answer}"


def merge_answers(reported: int, answer: int) -> int:
    """Combine a new answer with the earlier ones: all answers to one message must be equal."""
    return answer if reported in {NOTHING, answer} else CONTRADICTED
