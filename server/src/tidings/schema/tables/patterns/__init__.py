"""Every access pattern of the tables, by name. No other request can be made."""

from itertools import chain

from tidings.schema.tables.patterns import (
    accounts,
    chats,
    delivery,
    erasure,
    exports,
    imports,
    inboxes,
    jobs,
    mail,
    media,
    messages,
    moderation,
    operators,
    push,
    retention,
    tenant_deletion,
    webhooks,
)
from tidings.schema.tables.patterns.builders import Pattern

SUBJECTS = (
    chats,
    messages,
    delivery,
    accounts,
    erasure,
    exports,
    imports,
    inboxes,
    jobs,
    mail,
    media,
    moderation,
    operators,
    push,
    tenant_deletion,
    retention,
    webhooks,
)

PATTERNS: tuple[Pattern, ...] = (
    *(
        value
        for value in chain.from_iterable(vars(subject).values() for subject in SUBJECTS)
        if isinstance(value, Pattern)
    ),
    *tenant_deletion.LISTS.values(),
    *tenant_deletion.DELETES.values(),
)
REGISTRY = {pattern.name: pattern for pattern in PATTERNS}
