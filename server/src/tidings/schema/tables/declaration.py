"""The twenty tables, declared once for `tables plan`, `apply`, `check`, the docs and the tests.

A change of a key or an index is a decision (docs/adr), and `tables apply` refuses it for a table that exists.
"""

from tidings.schema.tables.items import (
    accounts,
    chat_lists,
    chats,
    erasure,
    inboxes,
    media,
    moderation,
    push,
    webhooks,
)
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

# Provisioned capacity is twice the expected average, with a read as one unit, and at least 5: unused capacity
# accumulates for 300 s, so 5 units are enough for a transaction with 97 new members (194 units).
# `tables apply` raises capacity to these figures and never lowers it: auto scaling and operators raise it too.

MESSAGES = Table(
    name="messages",
    partition=KeyAttribute("chat_id"),
    sort=KeyAttribute("sequence", KeyType.NUMBER),
    items=(*chats.LOG, chats.EPHEMERAL_CONTENT, chats.REACTION),
    ttl=Ttl("expires_at", "ephemeral content until it expires; an entry of the log never has it"),
    stream=StreamView.NEW_AND_OLD_IMAGES,
    backup=Backup.CRITICAL,
    load=ExpectedLoad(100, 12, 5),
    why="The log of every chat: one partition per chat, in order. The relay reads its stream. It needs new images "
    "and keys only; a standby region also needs old images, and the view of a stream can't change. So redacted or "
    "expired content can be read from the stream for another 24 hours.",
    capacity_why="Highly variable: a viral chat cannot be foreseen.",
)
CHAT_COUNTERS = Table(
    name="chat_counters",
    partition=KeyAttribute("chat_id"),
    items=(chats.COUNTER,),
    backup=Backup.CRITICAL,
    load=ExpectedLoad(0, 12, 0.01),
    why="The delivered head of chats that are too large for a row per member. It follows the log.",
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
    why="A retry by a sender without a position finds the first answer here. Not protected from deletion: after a "
    "restore or a failover it is emptied by creating it again.",
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
            why="Users by a keyed hash of their phone number, for display. Only `user_id` is needed, and keys are always "
            "projected. Login does not read it: it reads the claim of the number, strongly consistent.",
            growth=Growth("one user for each number", 1),
        ),
    ),
    backup=Backup.CRITICAL,
    units=CapacityUnits(40, 5),
    load=ExpectedLoad(20, 0.1, 0.05),
    why="Identity and profile, read by id after login.",
    capacity_why="Predictable; grows with the user base.",
)
CHATS = Table(
    name="chats",
    partition=KeyAttribute("chat_id"),
    items=(chats.CHAT_ROW, chats.CHAT_WITH_RULES),
    backup=Backup.CRITICAL,
    units=CapacityUnits(60, 5),
    load=ExpectedLoad(30, 0.5, 0.01),
    why="Name and type of a chat. Members are not part of it: every join would rewrite the item.",
    capacity_why="Predictable; grows with new chats.",
)
CHAT_MEMBERSHIPS = Table(
    name="chat_memberships",
    partition=KeyAttribute("chat_id"),
    sort=KeyAttribute("user_id"),
    items=(chats.MEMBERSHIP, chats.RESTRICTED_MEMBERSHIP),
    indexes=(
        Index(
            "user_chats-index",
            partition=KeyAttribute("user_id"),
            sort=KeyAttribute("chat_id"),
            template=chats.OWN_USER,
            projection=Projection.ALL,
            units=CapacityUnits(5, 5),
            why="All chats of a user by membership: for support, export and erasure, and to rebuild chat rows. The "
            "chat list itself reads `delivery_state`.",
            growth=Growth("planned: 100,000 chats of a user", chats.CHATS_OF_A_USER),
        ),
    ),
    backup=Backup.CRITICAL,
    units=CapacityUnits(100, 5),
    scales_to=CapacityUnits(1_000, 1_000),
    load=ExpectedLoad(50, 1, 0.1),
    why="The members of each chat, with the intervals of sequences that they may read. Rows are never deleted.",
    capacity_why="Predictable; grows with changes of membership. A job that adds 100,000 members writes 200,000 units: "
    "it is throttled until auto scaling has raised the writes, up to the limit of the chat's partition.",
)
DELIVERY_STATE = Table(
    name="delivery_state",
    partition=KeyAttribute("user_id"),
    sort=KeyAttribute("chat_id"),
    items=(chat_lists.CHAT_LIST_ROW, chat_lists.QUIET_ROW, chat_lists.BLOCK, chat_lists.INVITE),
    backup=Backup.CRITICAL,
    load=ExpectedLoad(50, 20, 0.1),
    why="A user's watermarks and chat list: one Query returns both, and the entries that a device missed.",
    capacity_why="Bursts when all users reconnect at the same time.",
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
            why="Lists a user's devices, for display and to revoke them.",
            growth=Growth("the oldest is revoked above `accounts.sessions_per_user`", 1_000),
        ),
    ),
    ttl=Ttl("ttl", "until the session expires"),
    backup=Backup.EPHEMERAL,
    units=CapacityUnits(20, 5),
    load=ExpectedLoad(10, 1, 0.01),
    why="Logins of devices. If they are lost, users log in again.",
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
    why="The offline queue: messages for users without a connected device, read once at reconnect. The log and "
    "`delivery_state` remain authoritative. Not protected from deletion: after a restore it is emptied by creating it "
    "again.",
    capacity_why="Idle while users are online, and a burst when a region of the network fails.",
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
        accounts.INSTALLATION_DATA_KEY,
        accounts.ONE_TIME_CODE,
        accounts.INSTALLATION,
        accounts.LISTED_TENANT,
        accounts.REVOCATION,
        accounts.OPERATOR_SESSION,
        accounts.DEAD_LETTER_MARK,
        webhooks.ENDPOINT,
        push.PROVIDER,
    ),
    ttl=Ttl(
        "ttl",
        "one-time codes, minutes; revocations, an hour; sessions of operators, a day after their end; marks of dead "
        "letters, 15 days",
    ),
    backup=Backup.CRITICAL,
    why="Settings and keys of each tenant, read through a cache in every process. Encrypted content cannot be read "
    "without the data keys.",
    capacity_why="Almost none, then every process at once after a deployment. A throttled read would reject users, and on "
    "demand it costs cents.",
)
USER_KEYS = Table(
    name="user_keys",
    partition=KeyAttribute("user_id"),
    items=(accounts.USER_KEYS,),
    backup=Backup.SHORT,
    why="The content keys of users. Without them, what a user wrote cannot be read. A table of its own, because no copy of "
    "it may be older than a week: after that, a destroyed key exists nowhere.",
    capacity_why="Almost none, then every process at once after a deployment.",
)
ERASURES = Table(
    name="erasures",
    partition=KeyAttribute("tenant"),
    sort=KeyAttribute("erasure"),
    items=erasure.ERASURES,
    ttl=Ttl("ttl", "400 days, longer than any backup is kept; items of retention do not have it"),
    backup=Backup.CRITICAL,
    why="Erased users, deleted tenants, and how far each erasure is; chats with a limit of their own; expired messages that "
    "the index may have. Never restored to an earlier time: `restore finish` reads it, and repeats the erasures.",
    capacity_why="Almost none.",
)
LEASES = Table(
    name="leases",
    partition=KeyAttribute("lease"),
    items=(accounts.LEASE, accounts.SHARD_LEASE),
    ttl=Ttl("ttl", "leases of stream shards, some days after the shard was closed; others do not have it"),
    backup=Backup.EPHEMERAL,
    is_deletion_protected=False,
    why="Leases for work that one process does at a time. Stream shards are replaced every few hours, so their "
    "leases expire. If they are lost, processes take new ones.",
    capacity_why="Steady but small. A throttled renewal would lose a lease, and on demand it costs cents.",
)
INBOX = Table(
    name="inbox",
    partition=KeyAttribute("PK"),
    sort=KeyAttribute("SK"),
    items=inboxes.INBOX,
    ttl=Ttl("ttl", "keys, jobs, content and broadcast log after their retention; never a counted row"),
    backup=Backup.CRITICAL,
    why="Everything about notifications and jobs, in one table: their items are read and written together.",
    capacity_why="A send to many users is a burst, followed by no load.",
)
AUDIT = Table(
    name="audit",
    partition=KeyAttribute("tenant_month"),
    sort=KeyAttribute("record"),
    items=(accounts.AUDIT_RECORD, accounts.SYSTEM_AUDIT_RECORD),
    backup=Backup.CRITICAL,
    why="The audit log: administrative actions from the console, REST and the command line. Processes only put new items "
    "and query, so grant them nothing else. A month is one partition, so that an export reads whole partitions.",
    capacity_why="Almost none.",
)
WEBHOOKS = Table(
    name="webhooks",
    partition=KeyAttribute("endpoint"),
    sort=KeyAttribute("item"),
    items=webhooks.WEBHOOKS,
    ttl=Ttl(
        "ttl",
        "the delivery log, a week; the list of disabled endpoints, 30 days; queued items do not have it",
    ),
    backup=Backup.EPHEMERAL,
    why="Events that wait for an endpoint, and the delivery log. An event that is delivered at the first attempt is only "
    "in the log. After a loss, `tidings webhook replay` sends the events of the last two days again.",
    capacity_why="Follows the traffic of tenants with webhooks, and bursts when an endpoint fails.",
)
DEVICES = Table(
    name="devices",
    partition=KeyAttribute("user_id"),
    sort=KeyAttribute("item"),
    items=(push.REGISTRATION, push.TOKEN_OWNER, push.PREFERENCES, push.ALERT),
    ttl=Ttl("ttl", "alerts, 30 days after the message; nothing else has it"),
    backup=Backup.CRITICAL,
    why="Where a user's devices receive push notifications, their preferences, and the alerts that are shown. One partition "
    "has all that a decision needs.",
    capacity_why="A burst of messages to users who are offline, followed by little load.",
)
PUSH_RESULTS = Table(
    name="push_results",
    partition=KeyAttribute("message"),
    sort=KeyAttribute("recipient"),
    items=(push.PUSH_RESULT, push.PUSH_DECISION, push.NOTIFICATION_PUSH, push.NOTIFICATION_PUSH_DECISION),
    ttl=Ttl("ttl", "7 days"),
    backup=Backup.EPHEMERAL,
    is_deletion_protected=False,
    why="What happened to the push notifications of a message, for each recipient and device. Read by `tidings trace`, and "
    "by the worker before it sends, so that a repeated event sends nothing twice.",
    capacity_why="As variable as the messages to users who are offline.",
)
UPLOADS = Table(
    name="uploads",
    partition=KeyAttribute("tenant_shard"),
    sort=KeyAttribute("upload"),
    items=(media.UPLOAD, media.TOTAL),
    backup=Backup.CRITICAL,
    why="A row for each file in the bucket. The sweeper lists a tenant's 16 partitions in the order of the bucket's keys and "
    "compares both. No TTL: an object is deleted before its row, and the total changes with the row.",
    capacity_why="Follows attachments, which are sent in bursts.",
)
REPORTS = Table(
    name="reports",
    partition=KeyAttribute("target"),
    sort=KeyAttribute("item"),
    items=(moderation.REVIEW, moderation.REPORT),
    indexes=(
        Index(
            "review_queue-index",
            partition=KeyAttribute("queue_shard"),
            sort=KeyAttribute("queued_at"),
            template=moderation.QUEUE,
            projection=Projection.KEYS_ONLY,
            units=CapacityUnits(5, 5),
            why="The review queue of a tenant in 4 partitions, by time. A further report does not write it: its keys do not "
            "change, and nothing else is projected.",
            growth=Growth("planned: 8 million reviews of a tenant in 180 days", 2_000_000),
        ),
    ),
    ttl=Ttl("ttl", "180 days after the last report or the decision"),
    backup=Backup.CRITICAL,
    why="Reported messages and users. A target is one partition with its reports, so that no partition grows with the tenant.",
    capacity_why="Little, and a burst of reports about one message.",
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
    USER_KEYS,
    ERASURES,
    LEASES,
    INBOX,
    AUDIT,
    WEBHOOKS,
    DEVICES,
    PUSH_RESULTS,
    UPLOADS,
    REPORTS,
)
BY_NAME = {table.name: table for table in TABLES}
PARTITION_KEYS = {table.name: table.partition.name for table in TABLES}
