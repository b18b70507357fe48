"""Every way in which Tidings touches its tables, by name. A call that is not here can't be made."""

from itertools import chain

from tidings.tables.patterns import accounts, chats, delivery, jobs, messages, notices
from tidings.tables.patterns.forms import Pattern

SUBJECTS = (messages, chats, delivery, accounts, notices, jobs)

PATTERNS: tuple[Pattern, ...] = tuple(
    value
    for value in chain.from_iterable(vars(subject).values() for subject in SUBJECTS)
    if isinstance(value, Pattern)
)
REGISTRY = {pattern.name: pattern for pattern in PATTERNS}
