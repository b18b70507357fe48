"""What the models share: a chat's log and its entries, who is a member as of a sequence, what a client is told.

A log is a tuple of numbers, the first for sequence 1; a `Cast` says which entry a number stands for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

type Log = tuple[int, ...]

HOLE = -1
"""Nothing is there, though something is above it."""


class Kind(Enum):
    CREATE = "create"
    MESSAGE = "message"
    EDIT = "edit"
    JOIN = "join"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Entry:
    """`user` is who sends, or who joins or leaves; `content` stands for the fingerprint of what was sent."""

    name: str
    kind: Kind
    user: str = ""
    key: str = ""
    content: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """Two entries with the same one are tries of one thing: a client key means something per sender."""
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
    """The entries that a model may see in a log; number 0 is `create`, which brings the first members."""

    entries: tuple[Entry, ...]
    members: frozenset[str] = frozenset({"u", "w"})

    def numbered(self, log: Log) -> Iterator[tuple[int, Entry]]:
        """Sequences and their entries; a hole is passed over."""
        return ((n, self.entries[there]) for n, there in enumerate(log, 1) if there != HOLE)

    def member_since(self, user: str, numbered: Iterable[tuple[int, Entry]]) -> int:
        """The sequence with which the interval began that is open after these entries; 0 for a non-member."""
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


# What a client is told for good. A positive number is an ack and the sequence that it carries.
NOTHING = 0
REFUSED = -1
CONFLICT = -2
NOT_WRITTEN = -3
CONTRADICTED = -4
WRONGLY_REFUSED = -5

PUT = -10
"""No answer at all: the checks found nothing against a put at the next place."""

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


def told_also(told: int, answer: int) -> int:
    """What a client knows after one more answer: all answers to one message must be the same."""
    return answer if told in {NOTHING, answer} else CONTRADICTED
