"""Items of `delivery_state`: a user's chat list, blocks and invites."""

from tidings.schema.tables.items.chats import CHAT, CHATS_OF_A_USER, LAST_MESSAGE, OWN_USER, USER
from tidings.schema.tables.limits import MS, SEQUENCE, TIME, FlagLimit, TextLimit
from tidings.schema.tables.model import Growth, KeyTemplate, TableItem

BLOCK_SORT = KeyTemplate("*block#{other}")
INVITE_SORT = KeyTemplate("*invite#{chat}")

CHAT_LIST_ROW = TableItem(
    "chat-list row",
    OWN_USER,
    CHAT,
    {
        "last_acked_sequence": SEQUENCE,
        "last_acked_ordinal": SEQUENCE,
        "last_read_sequence": SEQUENCE,
        "read_ordinal": SEQUENCE,
        "read_at": MS,
        "own_sequence": SEQUENCE,
        "own_ordinal": SEQUENCE,
        "joined_sequence": SEQUENCE,
        "joined_ordinal": SEQUENCE,
        "joined_at": MS,
        "removed_sequence": SEQUENCE,
        "other": USER,
        "last_sequence": SEQUENCE,
        "last_ordinal": SEQUENCE,
        **LAST_MESSAGE,
        "large": FlagLimit(),
        "archived": FlagLimit(),
        "pinned": FlagLimit(),
        "muted_until": MS,
        "notify": TextLimit(1),
        "updated_at": MS,
    },
    max_bytes=1024,
    holds="watermarks, ordinals, the last message and flags of one chat of one user",
    growth=Growth("planned: 100,000 chats of a user", CHATS_OF_A_USER),
)
_ONLY_DIRECT = {"other", *LAST_MESSAGE}
QUIET_ROW = TableItem(
    "row of a quiet group",
    OWN_USER,
    CHAT,
    {
        **{n: limit for n, limit in CHAT_LIST_ROW.attributes.items() if n not in _ONLY_DIRECT},
        "quiet_at": MS,
    },
    max_bytes=1024,
    holds="as a chat-list row, with the position of the group's head; rows of groups have no last message",
    growth=Growth("planned: 100,000 chats of a user", CHATS_OF_A_USER),
)
BLOCK = TableItem(
    "block",
    OWN_USER,
    BLOCK_SORT,
    {"created_at": TIME},
    max_bytes=1024,
    holds="a user that this user blocks",
    growth=Growth("planned: 100,000 blocks of a user", CHATS_OF_A_USER),
)
INVITE = TableItem(
    "invite",
    OWN_USER,
    INVITE_SORT,
    {"invited_by": USER, "created_at": TIME},
    max_bytes=1024,
    holds="an invite of this user to a group",
    growth=Growth("planned: 100,000 invites of a user", CHATS_OF_A_USER),
)
