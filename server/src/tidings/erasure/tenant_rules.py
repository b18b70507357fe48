"""How the deletion of a tenant finds each kind of row. A test fails for a table or an item without a rule. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class RowRule(StrEnum):
    """The owner that leads to the rows of an item."""

    TENANT = "tenant"
    """The partition, or a fixed number of partitions, has the id of the tenant and nothing else."""
    USER = "user"
    """The key has a user, or a row of the user names it. Users are in the directory, or members of a chat."""
    CHAT = "chat"
    """The key has a chat, or an entry of its log. Chats are those of users."""
    NOTIFICATION = "notification"
    """The key has a notification, which a user, a broadcast or a job names."""
    ENDPOINT = "endpoint"
    JOB = "job"
    EXPIRES = "expires"
    """No row leads to it. It has the id of the tenant in its key, no content, and a TTL."""
    KEPT = "kept"
    """It remains: the tombstone, the certificate, the audit log."""
    SYSTEM = "system"
    """It belongs to the installation."""


RULES: Final[Mapping[str, Mapping[str, RowRule]]] = {
    "messages": dict.fromkeys(
        (
            "message",
            "message with reactions",
            "change",
            "restriction",
            "members entry",
            "ephemeral content",
            "reaction",
        ),
        RowRule.CHAT,
    ),
    "chat_counters": {"head": RowRule.CHAT},
    "idempotency_keys": {"key": RowRule.CHAT},
    "users": {"user": RowRule.USER, "phone claim": RowRule.USER},
    "chats": {"chat": RowRule.CHAT, "chat with rules": RowRule.CHAT},
    "chat_memberships": {"membership": RowRule.CHAT, "restricted membership": RowRule.CHAT},
    "delivery_state": dict.fromkeys(
        ("chat-list row", "row of a quiet group", "block", "invite"), RowRule.USER
    ),
    "sessions": {"session": RowRule.USER},
    "pending_queue": {"pending message": RowRule.USER},
    "tenants": {
        "settings": RowRule.KEPT,
        "API key": RowRule.TENANT,
        "signing key": RowRule.TENANT,
        "data key": RowRule.TENANT,
        "webhook endpoint": RowRule.TENANT,
        "push provider": RowRule.TENANT,
        "listed tenant": RowRule.TENANT,
        "one-time code": RowRule.EXPIRES,
        "revocation": RowRule.EXPIRES,
        "key of the installation": RowRule.SYSTEM,
        "installation": RowRule.SYSTEM,
        "operator session": RowRule.SYSTEM,
        "dead-letter mark": RowRule.SYSTEM,
    },
    "user_keys": {"keys of a user": RowRule.USER},
    "erasures": {
        "erasure": RowRule.TENANT,
        "deletion of a tenant": RowRule.KEPT,
        "progress of an erasure": RowRule.USER,
        "chat with its own limit": RowRule.TENANT,
        "expired messages in the index": RowRule.TENANT,
    },
    "leases": {"lease": RowRule.TENANT, "shard lease": RowRule.SYSTEM},
    "inbox": {
        **dict.fromkeys(
            ("tenant settings", "inbox config", "mail config", "segment", "profile", "broadcast entry"),
            RowRule.TENANT,
        ),
        "content": RowRule.NOTIFICATION,
        "reader of a broadcast": RowRule.NOTIFICATION,
        "idempotency key": RowRule.EXPIRES,
        **dict.fromkeys(
            (
                "direct row",
                "direct counts",
                "broadcast state",
                "preferences",
                "unread that expires",
                "digest",
                "mail",
                "export of a user",
            ),
            RowRule.USER,
        ),
        "job": RowRule.JOB,
        "chunk": RowRule.JOB,
        "done mark": RowRule.JOB,
        "job of a tenant": RowRule.TENANT,
        "job due": RowRule.SYSTEM,
    },
    "audit": {"audit record": RowRule.KEPT, "audit record of the installation": RowRule.SYSTEM},
    "webhooks": dict.fromkeys(
        (
            "queued run",
            "replayed run",
            "queued event",
            "replay request",
            "backlog",
            "disabled endpoint",
            "delivery",
        ),
        RowRule.ENDPOINT,
    ),
    "devices": dict.fromkeys(("push registration", "token owner", "push preferences", "alert"), RowRule.USER),
    "push_results": {
        "push result": RowRule.CHAT,
        "push decision": RowRule.CHAT,
        "notification push": RowRule.USER,
        "notification push decision": RowRule.USER,
    },
    "uploads": {"upload": RowRule.TENANT, "upload total": RowRule.TENANT},
    "reports": {"review": RowRule.TENANT, "report": RowRule.TENANT},
}
