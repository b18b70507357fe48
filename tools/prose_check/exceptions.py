"""The list of places where a rule does not apply.

One exception per line: a path pattern, a rule or `*`, and the reason. The list is kept short on purpose: a rule that
needs many exceptions is a bad rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tools.prose_check.rules import Hit

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")
MAX_EXCEPTIONS = 30
_FIELDS = 3


@dataclass(frozen=True, slots=True)
class Rejected:
    """A problem of the list itself."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class PathException:
    """Files in which a rule does not apply. `rule` may be `*`."""

    line: int
    pattern: str
    rule: str

    def covers(self, hit: Hit) -> bool:
        """Return whether this exception allows the hit."""
        return self.rule in ("*", hit.rule) and fnmatchcase(hit.path, self.pattern)


def load(text: str, rule_names: Iterable[str]) -> tuple[list[PathException], list[Rejected]]:
    """Parse the list. Report malformed lines, unknown rules and a list that is too long."""
    known = {"*", *rule_names}
    accepted: list[PathException] = []
    rejected: list[Rejected] = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split(maxsplit=2)
        if not fields or line.startswith("#"):
            continue
        if len(fields) < _FIELDS:
            rejected.append(Rejected(number, "Write a path pattern, a rule and the reason."))
        elif fields[1] not in known:
            rejected.append(Rejected(number, f"Unknown rule {fields[1]}."))
        else:
            accepted.append(PathException(number, fields[0], fields[1]))
    if len(accepted) > MAX_EXCEPTIONS:
        problem = (
            f"{len(accepted)} exceptions; {MAX_EXCEPTIONS} are allowed. Rewrite the text or correct the rule."
        )
        rejected.append(Rejected(accepted[MAX_EXCEPTIONS].line, problem))
    return accepted, rejected


def apply(hits: Iterable[Hit], exceptions: list[PathException]) -> tuple[list[Hit], list[Rejected]]:
    """Return the hits that no exception covers, and the exceptions that covered nothing."""
    remaining: list[Hit] = []
    used: set[int] = set()
    for hit in hits:
        covering = {exception.line for exception in exceptions if exception.covers(hit)}
        used |= covering
        if not covering:
            remaining.append(hit)
    unused = [
        Rejected(e.line, f"Unused: {e.pattern} {e.rule}. Remove it.")
        for e in exceptions
        if e.line not in used
    ]
    return remaining, unused
