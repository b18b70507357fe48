"""Every access pattern of the tables, by name. No other request can be made."""

from itertools import chain

from tidings.schema.tables.patterns import (
    accounts,
    chats,
    delivery,
    inboxes,
    mail,
    media,
    moderation,
    operators,
    push,
    webhooks,
)
from tidings.schema.tables.patterns.builders import Pattern

SUBJECTS = (chats, delivery, accounts, inboxes, mail, media, moderation, operators, push, webhooks)

PATTERNS: tuple[Pattern, ...] = tuple(
    value
    for value in chain.from_iterable(vars(subject).values() for subject in SUBJECTS)
    if isinstance(value, Pattern)
)
REGISTRY = {pattern.name: pattern for pattern in PATTERNS}
