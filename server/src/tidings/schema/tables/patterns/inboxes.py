"""Access patterns of the inbox: configuration, broadcasts, rows, counts."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import INBOX
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    get,
    put,
    query,
    transact,
    update,
)

READ_SETTINGS = get(
    "inbox.read_settings",
    INBOX,
    "t#T, st#tenant_settings",
    PatternRole.RECORDS,
    "Default values of a tenant's new inboxes.",
)
WRITE_SETTINGS = put(
    "inbox.write_settings", INBOX, "t#T, st#tenant_settings, if version = n", "Change the defaults."
)
READ_CONFIG = get(
    "inbox.read_config",
    INBOX,
    "t#T, si#I",
    PatternRole.SHOWS,
    "Schema and categories of an inbox; cached.",
    consistency=Consistency.EVENTUAL,
)
LIST_CONFIGS = query(
    "inbox.list_configs",
    INBOX,
    "t#T, begins with si#",
    PatternRole.SHOWS,
    "A tenant's inboxes.",
    consistency=Consistency.EVENTUAL,
)
WRITE_CONFIG = put("inbox.write_config", INBOX, "t#T, si#I, if version = n", "Change an inbox.")
READ_SEGMENT = get(
    "inbox.read_segment", INBOX, "t#T, sg#S", PatternRole.DELIVERS, "The definition of a segment; cached."
)
LIST_SEGMENTS = query(
    "inbox.list_segments",
    INBOX,
    "t#T, begins with sg#",
    PatternRole.SHOWS,
    "A tenant's segments.",
    consistency=Consistency.EVENTUAL,
)
WRITE_SEGMENT = put("inbox.write_segment", INBOX, "t#T, sg#S, if version = n", "Change a segment.")

READ_PROFILE = get(
    "inbox.read_profile",
    INBOX,
    "t#TD#hash, u#U",
    PatternRole.DELIVERS,
    "The attributes and lists of a user, to evaluate segments.",
)
READ_PROFILES = batch_get(
    "inbox.read_profiles",
    INBOX,
    "(t#TD#hash, u#U) of each",
    PatternRole.DELIVERS,
    "Which users of a chunk have a profile, including new ones.",
    consistency=Consistency.STRONG,
)
WRITE_PROFILE = update("inbox.write_profile", INBOX, "t#TD#hash, u#U", "Change a user's attributes or lists.")
WALK_DIRECTORY = query(
    "inbox.walk_directory",
    INBOX,
    "t#TD#0 … t#TD#255",
    PatternRole.MAINTAINS,
    "All users of a tenant, a page of one of 256 partitions at a time: previews of segments, export.",
    consistency=Consistency.EVENTUAL,
)

APPEND_BROADCAST = put(
    "inbox.append_broadcast",
    INBOX,
    "t#TB#I, b#head + 1, if absent",
    "Append to the broadcast log: publish, ramp, halt, redact.",
)
OPEN_BROADCASTS = query(
    "inbox.open_broadcasts",
    INBOX,
    "t#TB#I, begins with b#, descending",
    PatternRole.DELIVERS,
    "The last 90 days of the log, if Redis has no snapshot of it.",
)
FOLLOW_BROADCASTS = query(
    "inbox.follow_broadcasts",
    INBOX,
    "t#TB#I, b# > n",
    PatternRole.DELIVERS,
    "Update a process's copy of the log: at most once a second for all readers, and before an append.",
)

PUT_CONTENT = transact(
    "inbox.put_content",
    (INBOX,),
    "t#TM#id: v#0000 if absent, v#0001",
    "Store the content of a notification before anything refers to it.",
)
READ_CONTENT = batch_get(
    "inbox.read_content",
    INBOX,
    "(t#TM#id, v#0000) of each",
    PatternRole.SHOWS,
    "Current contents of a page of notifications; a redaction or an amendment shows at once.",
    consistency=Consistency.EVENTUAL,
)
FIND_CONTENT = get(
    "inbox.find_content",
    INBOX,
    "t#TM#id, v#0000",
    PatternRole.RECORDS,
    "The content of a notification, before it is amended or redacted.",
)
AMEND_CONTENT = transact(
    "inbox.amend_content",
    (INBOX,),
    "t#TM#id: v#0000 if version = n and not redacted, v#n + 1",
    "Change the content of a notification.",
)
REDACT_CONTENT = transact(
    "inbox.redact_content",
    (INBOX,),
    "t#TM#id: v#0000 if version = n, v#0001 … v#n deleted",
    "Delete the content of a notification.",
)

NOTE_READER = batch_write(
    "inbox.note_reader",
    INBOX,
    "(t#TM#id, r#U) of each",
    "Record that a user has read tracked broadcasts, before the user's state changes.",
)
LIST_READERS = query(
    "inbox.list_readers",
    INBOX,
    "t#TM#id, begins with r#, limit",
    PatternRole.SHOWS,
    "The users who have read a tracked broadcast.",
    consistency=Consistency.EVENTUAL,
)

DELIVER = transact(
    "inbox.deliver",
    (INBOX,),
    "t#TU#U#I: m#id if absent, c#* if it is not later, e#ms#id",
    "Deliver a notification to one user and count it. An existing row means done.",
)
EXCLUDE = put(
    "inbox.exclude",
    INBOX,
    "t#TU#U#I, m#id, if absent",
    "Record that the preferences of a user exclude a notification from their inbox.",
)
READ_DIGEST = get(
    "inbox.read_digest",
    INBOX,
    "t#TU#U#I, g#category#key",
    PatternRole.DELIVERS,
    "The digest that a notification may join; read after the counts, whose version locks it.",
)
GATHER = transact(
    "inbox.gather",
    (INBOX,),
    "t#TU#U#I: c#* if version = n, m#id if absent, m#first, g#category#key, e#ms#id",
    "Start a digest, or add a notification to it, with the counts.",
)
READ_PREFERENCES = batch_get(
    "inbox.read_preferences",
    INBOX,
    "(t#TU#U#I, c#*#p) of each user of a chunk",
    PatternRole.DELIVERS,
    "The channels that users have chosen, before a notification is delivered to them.",
    consistency=Consistency.STRONG,
)
WRITE_PREFERENCES = put(
    "inbox.write_preferences", INBOX, "t#TU#U#I, c#*#p, if version = n", "Change a user's preferences."
)
READ_ROWS = query(
    "inbox.read_rows",
    INBOX,
    "t#TU#U#I, begins with m#, descending, limit",
    PatternRole.DELIVERS,
    "A page of a user's direct notifications.",
)
READ_COUNTS = query(
    "inbox.read_counts",
    INBOX,
    "t#TU#U#I, between c# and e#",
    PatternRole.DELIVERS,
    "Counts, broadcast state, preferences and expiry entries, in one Query.",
)
READ_ROW = batch_get(
    "inbox.read_row",
    INBOX,
    "(t#TU#U#I, m#id) of each",
    PatternRole.DELIVERS,
    "Direct notifications before a change; read after the counts, whose version locks them.",
    consistency=Consistency.STRONG,
)
PROVE_RECALL = batch_get(
    "inbox.prove_recall",
    INBOX,
    "(t#TU#U#I, m#id) of each user of a chunk",
    PatternRole.SHOWS,
    "When users received and read a notification, and when it was withdrawn.",
    consistency=Consistency.STRONG,
)
MARK_ROW = transact(
    "inbox.mark_row",
    (INBOX,),
    "t#TU#U#I: m#id of each, c#* if version = n, e#ms#id of each",
    "Mark direct notifications as read, unread or archived, with their counts.",
)
MARK_ALL = put(
    "inbox.mark_all",
    INBOX,
    "t#TU#U#I, c#*, if version = n",
    "Mark all as read or seen before a time: the watermark and the new counts.",
)
MARK_BOTH = transact(
    "inbox.mark_both",
    (INBOX,),
    "t#TU#U#I: c#* if version = n, c#*#b if version = m",
    "Mark all as read or seen before a time, for direct notifications and broadcasts.",
)
RECOUNT = query(
    "inbox.recount",
    INBOX,
    "t#TU#U#I, between m# and m#id",
    PatternRole.RECORDS,
    "Rows older than the retention, to take them out of the counts.",
)
LIST_OWN = query(
    "inbox.list_own",
    INBOX,
    "t#TU#U#I, limit",
    PatternRole.MAINTAINS,
    "The items of an erased user in an inbox.",
)
DELETE_OWN = batch_write(
    "inbox.delete_own",
    INBOX,
    "t#TU#U#I, SK",
    "Delete the items of an erased user in an inbox.",
    role=PatternRole.MAINTAINS,
)
JOIN = put(
    "inbox.join",
    INBOX,
    "t#TU#U#I, c#*#b, if absent",
    "Store the join point, when a user first reads an inbox.",
)
CHANGE_STATE = put(
    "inbox.change_state",
    INBOX,
    "t#TU#U#I, c#*#b, if version = n",
    "Change a user's state of broadcasts, without expired ones.",
)
SETTLE = transact(
    "inbox.settle",
    (INBOX,),
    "t#TU#U#I: c#* if version = n, e#ms#id of each",
    "Take expired notifications out of the counts.",
)
REDACT_ROW = transact(
    "inbox.redact_row",
    (INBOX,),
    "t#TU#U#I: m#id, c#* if version = n, e#ms#id",
    "Redact a row with its count, or write a tombstone before its delivery.",
)
DELETE_ROWS = batch_write(
    "inbox.delete_rows",
    INBOX,
    "(t#TU#U#I, m#id) of each",
    "Retention: delete rows that are no longer counted.",
    role=PatternRole.MAINTAINS,
)
