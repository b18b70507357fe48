"""Items of the chat tables: log, heads, memberships, offline queue."""

from functools import lru_cache

from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.schema.tables.limits import (
    CONTENT_BYTES,
    EMOJI,
    EMOJI_BYTES,
    INTERVALS,
    MAX_ATTACHMENTS,
    MAX_JOINS_PER_ENTRY,
    MS,
    PART_BYTES,
    PREVIEW_BYTES,
    REACTION_DIGITS,
    REACTORS,
    REASON_BYTES,
    SEAL_BYTES,
    SECONDS,
    SEQUENCE,
    SEQUENCE_DIGITS,
    SOME_MEMBERS,
    TIME,
    AttributeLimits,
    BlobLimit,
    FlagLimit,
    ListLimit,
    MapLimit,
    NumberLimit,
    SetLimit,
    TextLimit,
)
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

USER = TextLimit(PART_BYTES["user"])
MESSAGE_ID = TextLimit(PART_BYTES["message"])
CLIENT_KEY = TextLimit(PART_BYTES["client_key"])
CONTENT = BlobLimit(CONTENT_BYTES + SEAL_BYTES)
PREVIEW = BlobLimit(PREVIEW_BYTES + SEAL_BYTES)
FINGERPRINT = BlobLimit(32)
KIND = TextLimit(16)
EPOCH = NumberLimit(10)

LOG_METRIC = "tidings_relay_largest_log_bytes"
USERS_OF_A_CHAT = 100_000
CHATS_OF_A_USER = 100_000
_OF_LOG = Growth("a chat's log does not expire", measured_by=LOG_METRIC)

CHAT = KeyTemplate("{tenant}#{chat}")
OWN_USER = KeyTemplate("{tenant}#{user}")
KEY_SORT = KeyTemplate("{sender}#{client_key}")


@lru_cache(maxsize=50_000)
def chat_key(chat: ChatKey) -> str:
    """Return the partition key of a chat. Cached, because a process uses the same chats again."""
    return CHAT.render(tenant=chat.tenant, chat=chat.chat)


@lru_cache(maxsize=50_000)
def user_key(tenant: TenantId, user: UserId) -> str:
    return OWN_USER.render(tenant=tenant, user=user)


_ENTRY: AttributeLimits = {
    "message_id": MESSAGE_ID,
    "kind": KIND,
    "ordinal": SEQUENCE,
    "sender_id": USER,
    "client_message_id": CLIENT_KEY,
    "fingerprint": FINGERPRINT,
    "epoch": EPOCH,
    "created_at": TIME,
    "chat_rules": ListLimit(3, NumberLimit(SEQUENCE_DIGITS)),
}
_RESTRICTION: AttributeLimits = {"until": MS, "reason": TextLimit(REASON_BYTES)}
_BODY: AttributeLimits = {"content": CONTENT, "content_type": TextLimit(64)}

MESSAGE = TableItem(
    "message",
    CHAT,
    SEQUENCE,
    {
        **_ENTRY,
        **_BODY,
        "edited_at": TIME,
        "redacted_at": TIME,
        "visible_until": MS,
        "attachments": ListLimit(MAX_ATTACHMENTS, TextLimit(PART_BYTES["upload"])),
    },
    max_bytes=5 * 1024,
    holds="a message with its content, or, if it was sent with `ttl_seconds`, until when the content is visible",
    growth=_OF_LOG,
)
MESSAGE_WITH_REACTIONS = TableItem(
    "message with reactions",
    CHAT,
    SEQUENCE,
    {
        **MESSAGE.attributes,
        "imported": FlagLimit(),
        "archived_in": TextLimit(PART_BYTES["upload"]),
        "archive_key": BlobLimit(32),
        "reaction_counts": MapLimit(EMOJI, EMOJI_BYTES, NumberLimit(7)),
        "reaction_users": ListLimit(REACTORS, TextLimit(EMOJI_BYTES + 1 + PART_BYTES["user"])),
    },
    max_bytes=8 * 1024,
    holds="a message, its exact count per emoji, and up to 20 of the users who reacted; also every imported message. "
    "Also an archived one: the part of the archive that has its content, and the key of its row there",
    growth=_OF_LOG,
)
CHANGE = TableItem(
    "change",
    CHAT,
    SEQUENCE,
    {
        **_ENTRY,
        "refers_to": SEQUENCE,
        "emoji": TextLimit(EMOJI_BYTES),
        "name": TextLimit(256),
        "role": TextLimit(8),
    },
    max_bytes=1024,
    holds="`edit`, `redaction`, `reaction`, `role`, `rename`, `block`: refers to a message, has no content",
    growth=_OF_LOG,
)
RESTRICTION_ENTRY = TableItem(
    "restriction",
    CHAT,
    SEQUENCE,
    {**_ENTRY, "users": ListLimit(1, USER), "role": TextLimit(8), **_RESTRICTION},
    max_bytes=1024,
    holds="`mute`, `ban`: the user, the end and the reason; `rules`: the chat's rules after it",
    growth=_OF_LOG,
)
MEMBERS_ENTRY = TableItem(
    "members entry",
    CHAT,
    SEQUENCE,
    {
        **_ENTRY,
        "users": ListLimit(MAX_JOINS_PER_ENTRY, USER),
        "member_count": NumberLimit(7),
        "large": FlagLimit(),
        "imported": FlagLimit(),
        "role": TextLimit(8),
        **_RESTRICTION,
    },
    max_bytes=8 * 1024,
    holds="`create`, `join`, `leave`: the affected users, and the number of members after it",
    growth=_OF_LOG,
)
EPHEMERAL_CONTENT = TableItem(
    "ephemeral content",
    KeyTemplate("{tenant}#{chat}#ephemeral"),
    SEQUENCE,
    {**_BODY, "expires_at": SECONDS},
    max_bytes=5 * 1024,
    holds="the content of a message that was sent with `ttl_seconds`",
    growth=Growth("fewer than the entries of the chat's log", measured_by=LOG_METRIC),
)
REACTION = TableItem(
    "reaction",
    KeyTemplate("{tenant}#{chat}#reactions#{sequence}"),
    NumberLimit(REACTION_DIGITS),
    {"sender_id": USER, "emoji": TextLimit(EMOJI_BYTES), "created_at": TIME},
    max_bytes=1024,
    holds="one reaction of one user to the message at `sequence`; the sort key is a hash of user and emoji",
    growth=Growth("refused: more than 20 emoji; planned: 100,000 users who react", EMOJI * USERS_OF_A_CHAT),
)
LOG = (MESSAGE, MESSAGE_WITH_REACTIONS, CHANGE, RESTRICTION_ENTRY, MEMBERS_ENTRY)
"""Entries of the log. None of them may have the table's TTL attribute: a deleted entry would be a hole."""

LAST_MESSAGE: AttributeLimits = {
    "preview_sequence": SEQUENCE,
    "preview_version": SEQUENCE,
    "last_at": MS,
    "last_sender": USER,
    "last_preview": PREVIEW,
    "preview_expires_at": SECONDS,
}

COUNTER = TableItem(
    "head",
    CHAT,
    None,
    {
        "sequence_counter": SEQUENCE,
        "ordinal": SEQUENCE,
        "removed_sequence": SEQUENCE,
        "large": FlagLimit(),
        "quiet_at": MS,
        "entry_at": MS,
        **LAST_MESSAGE,
    },
    max_bytes=1024,
    holds="the delivered head of a group: last message, last leave, whether it is large; follows the log",
)
IDEMPOTENCY_KEY = TableItem(
    "key",
    CHAT,
    KEY_SORT,
    {
        "message_id": MESSAGE_ID,
        "sequence": SEQUENCE,
        "fingerprint": FINGERPRINT,
        "refused": TextLimit(32),
        "created_at": TIME,
        "ttl": SECONDS,
    },
    max_bytes=1024,
    holds="the message that was sent with this key, for senders without a position",
    growth=Growth(
        "fewer than the entries of the chat's log, and only those of 7 days", measured_by=LOG_METRIC
    ),
)
CHAT_ROW = TableItem(
    "chat",
    CHAT,
    None,
    {
        "chat_type": TextLimit(8),
        "name": TextLimit(256),
        "created_by": USER,
        "member_count": NumberLimit(7),
        "large_since": SEQUENCE,
        "some_members": SetLimit(SOME_MEMBERS, USER),
        "epoch": SECONDS,
        "created_at": TIME,
        "updated_at": TIME,
    },
    max_bytes=1024,
    holds="type, name, creator, size, and a few members",
)
CHAT_WITH_RULES = TableItem(
    "chat with rules",
    CHAT,
    None,
    {
        **CHAT_ROW.attributes,
        "frozen": FlagLimit(),
        "slow_mode": NumberLimit(5),
        "join_rule": TextLimit(8),
        "join_link": BlobLimit(16),
        "importing": TextLimit(8),
        "imported": SEQUENCE,
        "retention_days": NumberLimit(5),
        "held": FlagLimit(),
        "expired_up_to": SEQUENCE,
        "oldest_at": MS,
        "archived_up_to": SEQUENCE,
        "unarchived_at": MS,
    },
    max_bytes=2 * 1024,
    holds="a group whose admins have set a rule or a join link; the log carries the rules that messages obey. Also an "
    "imported chat, with the step of its import, then its number of entries. Also a chat with a legal hold or a limit "
    "of its own, or whose messages expire or are archived",
)
MEMBERSHIP = TableItem(
    "membership",
    CHAT,
    OWN_USER,
    {
        "role": TextLimit(8),
        "joined_at": TIME,
        "intervals": ListLimit(INTERVALS, ListLimit(2, NumberLimit(SEQUENCE_DIGITS))),
        "right_since": SEQUENCE,
        "blocks": FlagLimit(),
        "blocked": FlagLimit(),
        "epoch": SECONDS,
    },
    max_bytes=512,
    holds="role, and the intervals `(joined, removed]` in which the user is a member",
    growth=Growth(
        "refused: more than 1,000 members; planned: 100,000 current and former ones", USERS_OF_A_CHAT
    ),
)
RESTRICTED_MEMBERSHIP = TableItem(
    "restricted membership",
    CHAT,
    OWN_USER,
    {
        **MEMBERSHIP.attributes,
        "muted_until": MS,
        "unmuted_at": SEQUENCE,
        "banned_until": MS,
        "ban_reason": TextLimit(REASON_BYTES),
        "last_sent": MS,
    },
    max_bytes=1024,
    holds="a membership with the end of a mute or ban, or the time of the last message in a chat with slow mode",
    growth=Growth("planned: 100,000 current and former members, and users who are banned", USERS_OF_A_CHAT),
)
PENDING_SORT = KeyTemplate("{at_ms:013d}#{message}")
PENDING = TableItem(
    "pending message",
    OWN_USER,
    PENDING_SORT,
    {
        "chat_id": TextLimit(CHAT.max_bytes),
        "sequence": SEQUENCE,
        **_ENTRY,
        **_BODY,
        "visible_until": MS,
        "expires_at": SECONDS,
        "ttl": SECONDS,
    },
    max_bytes=5 * 1024,
    holds="a message for a user without a connected device",
    growth=Growth(
        "planned: a message every 3 s while a user is offline, for the 30 days of the TTL", 1_000_000
    ),
)
