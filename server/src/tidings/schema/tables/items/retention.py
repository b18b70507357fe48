"""Items of retention in the table `erasures`: chats that a sweep must find, and expired messages in the search index."""

from tidings.kernel.ids import ChatId, TenantId
from tidings.schema.tables.limits import SEQUENCE
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

OWN_LIMITS = KeyTemplate("{tenant}#retention")
UNINDEXED = KeyTemplate("{tenant}#unindexed")
CHAT_SORT = KeyTemplate("{chat}")

OWN_LIMIT = TableItem(
    "chat with its own limit",
    OWN_LIMITS,
    CHAT_SORT,
    {},
    max_bytes=256,
    holds="a chat whose messages expire after a time of its own, so that a sweep finds it",
    growth=Growth("planned: 1 million chats of a tenant with a limit of their own", 1_000_000),
)
UNINDEXED_CHAT = TableItem(
    "expired messages in the index",
    UNINDEXED,
    CHAT_SORT,
    {"first": SEQUENCE, "last": SEQUENCE},
    max_bytes=256,
    holds="expired messages of a chat, until the search process has removed them from the index",
    growth=Growth("planned: 1 million chats while the search process does not run", 1_000_000),
)


def own_limit_key(tenant: TenantId, chat: ChatId) -> dict[str, object]:
    return {"tenant": OWN_LIMITS.render(tenant=tenant), "erasure": CHAT_SORT.render(chat=chat)}


def unindexed_key(tenant: TenantId, chat: ChatId) -> dict[str, object]:
    return {"tenant": UNINDEXED.render(tenant=tenant), "erasure": CHAT_SORT.render(chat=chat)}
