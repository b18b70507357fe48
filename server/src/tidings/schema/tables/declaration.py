"""The twelve tables, declared once. `tables plan`, `apply`, `check`, the docs and the tests all read this.

A change of a key or an index here is a decision (docs/adr), and `tables apply` refuses it where data stands.
"""

from tidings.schema.tables.items import accounts, chats, inboxes
from tidings.schema.tables.model import (
    Backup,
    CapacityUnits,
    ExpectedLoad,
    Growth,
    Index,
    KeyAttribute,
    KeyType,
    Projection,
    StreamView,
    Table,
    Ttl,
)

# Provisioned capacity is twice the expected average, a read counted as one unit, and never less than 5: what is
# not used is saved up for 300 s, so 5 let a transaction with 97 new members (194) through.
# `tables apply` raises capacity to these figures and never lowers it: auto scaling and people raise it too.

MESSAGES = Table(
    name="messages",
    partition=KeyAttribute("chat_id"),
    sort=KeyAttribute("sequence", KeyType.NUMBER),
    items=(*chats.LOG, chats.EPHEMERAL_CONTENT, chats.REACTION),
    ttl=Ttl("expires_at", "ephemeral content until it expires; an entry of the log never carries it"),
    stream=StreamView.NEW_AND_OLD_IMAGES,
    backup=Backup.CRITICAL,
    load=ExpectedLoad(100, 12, 5),
    why="The log of every chat: one partition per chat, in order. The relay audits its stream. New images and "
    "keys would do for that; a standby region asks for old images too, and the view can't be changed once there "
    "is one. So what was redacted or has expired can be read from the stream for another 24 hours.",
    capacity_why="Highly variable; nobody foresees a viral chat.",
)
CHAT_COUNTERS = Table(
    name="chat_counters",
    partition=KeyAttribute("chat_id"),
    items=(chats.COUNTER,),
    backup=Backup.CRITICAL,
    load=ExpectedLoad(0, 12, 0.01),
    why="What is known of a chat's head, for chats too large to write a row per member. Follows the log.",
    capacity_why="As variable as messages.",
)
IDEMPOTENCY_KEYS = Table(
    name="idempotency_keys",
    partition=KeyAttribute("chat_id"),
    sort=KeyAttribute("client_message_id"),
    items=(chats.IDEMPOTENCY_KEY,),
    ttl=Ttl("ttl", "7 days, longer than any retry"),
    backup=Backup.EPHEMERAL,
    is_deletion_protected=False,
    load=ExpectedLoad(12, 12, 0.5),
    why="A repeat by a sender without a position finds the first answer here. Not protected from deletion: "
    "after a restore or a failover it is emptied, by making it anew.",
    capacity_why="As variable as messages.",
)
USERS = Table(
    name="users",
    partition=KeyAttribute("user_id"),
    items=(accounts.USER_ROW, accounts.CLAIM),
    indexes=(
        Index(
            "phone_number-index",
            partition=KeyAttribute("phone_number"),
            template=accounts.PHONE,
            projection=Projection.KEYS_ONLY,
            units=CapacityUnits(5, 5),
            why="Users by phone number, to look at. Only `user_id` is needed, and keys are always projected. "
            "Login does not read it: a number's claim, read strongly, says whose it is.",
            growth=Growth("one user for each number", 1),
        ),
    ),
    backup=Backup.CRITICAL,
    units=CapacityUnits(40, 5),
    load=ExpectedLoad(20, 0.1, 0.05),
    why="Identity and profile, always by id after login.",
    capacity_why="Predictable; grows with the user base.",
)
CHATS = Table(
    name="chats",
    partition=KeyAttribute("chat_id"),
    items=(chats.CHAT_ROW,),
    backup=Backup.CRITICAL,
    units=CapacityUnits(60, 5),
    load=ExpectedLoad(30, 0.5, 0.01),
    why="What a chat is called and of which type it is; not its members, who would make every join a rewrite.",
    capacity_why="Predictable; grows with new chats.",
)
CHAT_MEMBERSHIPS = Table(
    name="chat_memberships",
    partition=KeyAttribute("chat_id"),
    sort=KeyAttribute("user_id"),
    items=(chats.MEMBERSHIP,),
    indexes=(
        Index(
            "user_chats-index",
            partition=KeyAttribute("user_id"),
            sort=KeyAttribute("chat_id"),
            template=chats.OWN_USER,
            projection=Projection.ALL,
            units=CapacityUnits(5, 5),
            why="All chats of a user from the authority on membership: for support, export and erasure, and to "
            "build chat-list rows again. The chat list itself reads `delivery_state`.",
            growth=Growth("planned: 100,000 chats of a user", chats.CHATS_OF_A_USER),
        ),
    ),
    backup=Backup.CRITICAL,
    units=CapacityUnits(100, 5),
    load=ExpectedLoad(50, 1, 0.1),
    why="Who may read and write what, as intervals of sequences; rows are never deleted.",
    capacity_why="Predictable; grows with changes of membership.",
)
DELIVERY_STATE = Table(
    name="delivery_state",
    partition=KeyAttribute("user_id"),
    sort=KeyAttribute("chat_id"),
    items=(chats.CHAT_LIST_ROW, chats.BLOCK),
    backup=Backup.CRITICAL,
    load=ExpectedLoad(50, 20, 0.1),
    why="A user's watermarks and chat list: one Query gives both, and what a device missed.",
    capacity_why="Bursts when everybody reconnects at once.",
)
SESSIONS = Table(
    name="sessions",
    partition=KeyAttribute("session_id"),
    items=(accounts.SESSION,),
    indexes=(
        Index(
            "user_sessions-index",
            partition=KeyAttribute("user_id"),
            template=chats.OWN_USER,
            projection=Projection.ALL,
            units=CapacityUnits(5, 5),
            why="Lists a user's devices, to look at and to revoke.",
            growth=Growth("the oldest ends when there are more than `accounts.sessions_per_user`", 1_000),
        ),
    ),
    ttl=Ttl("ttl", "until the session expires"),
    backup=Backup.EPHEMERAL,
    units=CapacityUnits(20, 5),
    load=ExpectedLoad(10, 1, 0.01),
    why="Logins of devices. Lost, users log in again.",
    capacity_why="Predictable; in proportion to active users.",
)
PENDING_QUEUE = Table(
    name="pending_queue",
    partition=KeyAttribute("user_id"),
    sort=KeyAttribute("message_key"),
    items=(chats.PENDING,),
    ttl=Ttl("ttl", "30 days"),
    backup=Backup.EPHEMERAL,
    is_deletion_protected=False,
    why="What a user missed while no device had a route, for one quick drain. Never the truth: the log and the "
    "rows of `delivery_state` are. Not protected from deletion: after a restore it is emptied, by making it anew.",
    capacity_why="Idle while people are online and a burst when a region of the network goes away.",
)
TENANTS = Table(
    name="tenants",
    partition=KeyAttribute("tenant"),
    sort=KeyAttribute("item"),
    items=(
        accounts.TENANT_SETTINGS,
        accounts.API_KEY,
        accounts.SIGNING_KEY,
        accounts.DATA_KEY,
        accounts.ONE_TIME_CODE,
        accounts.INSTALLATION,
        accounts.LISTED_TENANT,
        accounts.REVOCATION,
    ),
    ttl=Ttl("ttl", "one-time codes, minutes; nothing else here carries it"),
    backup=Backup.CRITICAL,
    why="Settings and keys of each tenant, read through a cache in every process. Without the data keys "
    "nothing that is encrypted can be read again.",
    capacity_why="Next to nothing, then every process at once after a deployment; a throttled read here "
    "refuses people, and on demand it costs cents.",
)
LEASES = Table(
    name="leases",
    partition=KeyAttribute("lease"),
    items=(accounts.LEASE, accounts.SHARD_LEASE),
    ttl=Ttl("ttl", "leases of stream shards, some days after the shard has closed; others do not carry it"),
    backup=Backup.EPHEMERAL,
    is_deletion_protected=False,
    why="Who does the work that one process does at a time. Shards of the stream come and go every few hours, "
    "so their leases expire. Lost, everybody takes a lease anew.",
    capacity_why="Steady but small, and a throttled renewal loses a lease: the few cents are better spent.",
)
INBOX = Table(
    name="inbox",
    partition=KeyAttribute("PK"),
    sort=KeyAttribute("SK"),
    items=inboxes.INBOX,
    ttl=Ttl("ttl", "keys, jobs, content and log of broadcasts after their retention; never a counted row"),
    backup=Backup.CRITICAL,
    why="Notifications are one access pattern, so they are one table.",
    capacity_why="A send to many users is a burst, then nothing.",
)

TABLES = (
    MESSAGES,
    CHAT_COUNTERS,
    IDEMPOTENCY_KEYS,
    USERS,
    CHATS,
    CHAT_MEMBERSHIPS,
    DELIVERY_STATE,
    SESSIONS,
    PENDING_QUEUE,
    TENANTS,
    LEASES,
    INBOX,
)
BY_NAME = {table.name: table for table in TABLES}
