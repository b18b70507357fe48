"""The first data-model document, copied row by row, as far as tests compare the tables with it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A row of its table of access patterns. `reads` are the allowed consistencies; empty for a write."""

    row: str
    table: str
    index: str | None
    operation: str
    reads: frozenset[str]


EVENTUALLY, STRONGLY, EITHER = (
    frozenset({"eventual"}),
    frozenset({"strong"}),
    frozenset({"eventual", "strong"}),
)
NOTHING: frozenset[str] = frozenset()

ACCESS_PATTERNS = (
    Asked("Get user by ID", "users", None, "GetItem", EVENTUALLY),
    Asked("Find user by phone", "users", "phone_number-index", "Query", EVENTUALLY),
    Asked("Get chat metadata", "chats", None, "GetItem", EVENTUALLY),
    Asked("List chat members", "chat_memberships", None, "Query", STRONGLY),
    Asked("List user's chats", "chat_memberships", "user_chats-index", "Query", EVENTUALLY),
    Asked("Check user in chat", "chat_memberships", None, "GetItem", STRONGLY),
    Asked("Add member", "chat_memberships", None, "PutItem", NOTHING),
    Asked("Remove member", "chat_memberships", None, "DeleteItem", NOTHING),
    Asked("Get messages after seq", "messages", None, "Query", STRONGLY),
    Asked("Get recent N messages", "messages", None, "Query", STRONGLY),
    Asked("Get specific message", "messages", None, "GetItem", EITHER),
    Asked("Allocate sequence", "chat_counters", None, "UpdateItem", NOTHING),
    Asked("Check duplicate", "idempotency_keys", None, "GetItem", EVENTUALLY),
    Asked("Get delivery state", "delivery_state", None, "GetItem", EVENTUALLY),
    Asked("Update watermark", "delivery_state", None, "UpdateItem", NOTHING),
    Asked("Validate session", "sessions", None, "GetItem", EVENTUALLY),
    Asked("List user sessions", "sessions", "user_sessions-index", "Query", EVENTUALLY),
)

KEYS = {
    "messages": "chat_id (S), sequence (N)",
    "chat_counters": "chat_id (S)",
    "idempotency_keys": "chat_id (S), client_message_id (S)",
    "users": "user_id (S)",
    "chats": "chat_id (S)",
    "chat_memberships": "chat_id (S), user_id (S)",
    "delivery_state": "user_id (S), chat_id (S)",
    "sessions": "session_id (S)",
}
INDEXES = {
    ("users", "phone_number-index", "phone_number (S)", "KEYS_ONLY"),
    ("chat_memberships", "user_chats-index", "user_id (S), chat_id (S)", "ALL"),
    ("sessions", "user_sessions-index", "user_id (S)", "ALL"),
}
ON_DEMAND = {"messages", "chat_counters", "idempotency_keys", "delivery_state"}
PROVISIONED = {"users", "chats", "chat_memberships", "sessions"}
LOAD = {
    "messages": (100, 12, 5),
    "chat_counters": (0, 12, 0.01),
    "idempotency_keys": (12, 12, 0.5),
    "delivery_state": (50, 20, 0.1),
    "users": (20, 0.1, 0.05),
    "chats": (30, 0.5, 0.01),
    "chat_memberships": (50, 1, 0.1),
    "sessions": (10, 1, 0.01),
}
MUST_EXPIRE = {"idempotency_keys", "sessions"}
CRITICAL = {"messages", "users", "chats", "chat_memberships", "chat_counters", "delivery_state"}
EPHEMERAL = {"idempotency_keys", "sessions"}
