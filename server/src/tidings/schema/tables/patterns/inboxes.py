"""How the inbox is used by senders and readers: configuration, broadcasts, rows, counts."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import INBOX
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_get,
    batch_write,
    delete,
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
    "What an inbox has if its tenant does not say it; read when one is made or set.",
)
WRITE_SETTINGS = put("inbox.write_settings", INBOX, "t#T, st#tenant_settings, if version = n", "Set.")
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
    "inbox.read_segment", INBOX, "t#T, sg#S", PatternRole.DELIVERS, "Who is in a segment; cached."
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
    "inbox.read_profile", INBOX, "t#TD#hash, u#U", PatternRole.DELIVERS, "In which segments is a user?"
)
READ_PROFILES = batch_get(
    "inbox.read_profiles",
    INBOX,
    "(t#TD#hash, u#U) of each",
    PatternRole.DELIVERS,
    "Which users of a chunk are known; one who was made a moment ago is.",
    consistency=Consistency.STRONG,
)
WRITE_PROFILE = update("inbox.write_profile", INBOX, "t#TD#hash, u#U", "Change a user's attributes or lists.")
WALK_DIRECTORY = query(
    "inbox.walk_directory",
    INBOX,
    "t#TD#0 … t#TD#255",
    PatternRole.MAINTAINS,
    "All users of a tenant, a page of one of 256 parts at a time: previews of segments, export.",
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
    "The last 90 days of the log, where Redis has no snapshot of it.",
)
FOLLOW_BROADCASTS = query(
    "inbox.follow_broadcasts",
    INBOX,
    "t#TB#I, b# > n",
    PatternRole.DELIVERS,
    "A process's copy of the log moves on: at most once a second, whatever its number of readers; before an append.",
)

PUT_CONTENT = transact(
    "inbox.put_content",
    (INBOX,),
    "t#TM#id: v#0000 if absent, v#0001",
    "Keep what a notification says before anything points to it.",
)
READ_CONTENT = batch_get(
    "inbox.read_content",
    INBOX,
    "(t#TM#id, v#0000) of each",
    PatternRole.SHOWS,
    "What the notifications of a page say now; a redaction or an amendment shows at once.",
    consistency=Consistency.EVENTUAL,
)
FIND_CONTENT = get(
    "inbox.find_content",
    INBOX,
    "t#TM#id, v#0000",
    PatternRole.RECORDS,
    "A notification, before it is amended or redacted.",
)
AMEND_CONTENT = transact(
    "inbox.amend_content",
    (INBOX,),
    "t#TM#id: v#0000 if version = n and not redacted, v#n + 1",
    "From now on a notification says something else.",
)
REDACT_CONTENT = transact(
    "inbox.redact_content",
    (INBOX,),
    "t#TM#id: v#0000 if version = n, v#0001 … v#n deleted",
    "Empty a notification: who reads it from now on finds nothing.",
)

NOTE_READER = batch_write(
    "inbox.note_reader",
    INBOX,
    "(t#TM#id, r#U) of each",
    "A user reads broadcasts that were sent to be tracked: before his state says so.",
)
LIST_READERS = query(
    "inbox.list_readers",
    INBOX,
    "t#TM#id, begins with r#, limit",
    PatternRole.SHOWS,
    "Who has read a broadcast.",
    consistency=Consistency.EVENTUAL,
)

DELIVER = transact(
    "inbox.deliver",
    (INBOX,),
    "t#TU#U#I: m#id if absent, c#* if it is not later, e#ms#id",
    "Give one user a notification and count it. A row that is there means done.",
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
    "Counts, broadcast state and what is to be settled, in one Query.",
)
READ_ROW = batch_get(
    "inbox.read_row",
    INBOX,
    "(t#TU#U#I, m#id) of each",
    PatternRole.DELIVERS,
    "Some direct notifications, before a change; after the counts, whose version locks them.",
    consistency=Consistency.STRONG,
)
PROVE_RECALL = batch_get(
    "inbox.prove_recall",
    INBOX,
    "(t#TU#U#I, m#id) of each user of a chunk",
    PatternRole.SHOWS,
    "Who had a notification, who had read it, when it vanished.",
    consistency=Consistency.STRONG,
)
MARK_ROW = transact(
    "inbox.mark_row",
    (INBOX,),
    "t#TU#U#I: m#id of each, c#* if version = n, e#ms#id of each",
    "Read, reopen, archive direct notifications, with their counts.",
)
MARK_ALL = put(
    "inbox.mark_all",
    INBOX,
    "t#TU#U#I, c#*, if version = n",
    "Mark all read or seen before a time: the watermark and the recounted rest.",
)
MARK_BOTH = transact(
    "inbox.mark_both",
    (INBOX,),
    "t#TU#U#I: c#* if version = n, c#*#b if version = m",
    "Mark all read or seen before a time, where notifications of both kinds are to be marked.",
)
RECOUNT = query(
    "inbox.recount",
    INBOX,
    "t#TU#U#I, between m# and m#id",
    PatternRole.RECORDS,
    "Rows that are kept no longer, to take them out of the counts.",
)
JOIN = put(
    "inbox.join", INBOX, "t#TU#U#I, c#*#b, if absent", "The join point, at a user's first look at an inbox."
)
CHANGE_STATE = put(
    "inbox.change_state",
    INBOX,
    "t#TU#U#I, c#*#b, if version = n",
    "What a user did with broadcasts; prunes what is dead.",
)
SETTLE = transact(
    "inbox.settle",
    (INBOX,),
    "t#TU#U#I: c#* if version = n, e#ms#id of each",
    "Take what has expired out of the counts.",
)
REDACT_ROW = transact(
    "inbox.redact_row",
    (INBOX,),
    "t#TU#U#I: m#id, c#* if version = n, e#ms#id",
    "Empty a row, or leave a tombstone where it has yet to come, with its count.",
)
DELETE_ROWS = batch_write(
    "inbox.delete_rows",
    INBOX,
    "(t#TU#U#I, m#id) of each",
    "Retention: forget rows that are not counted any more.",
    role=PatternRole.MAINTAINS,
)


CLAIM_KEY = put(
    "jobs.claim_key",
    INBOX,
    "t#TK#I#i#key, k, if absent",
    "A send under this key or host_system_id is a repeat from now on. A failed condition returns the first.",
)
FIND_KEY = get(
    "jobs.find_key",
    INBOX,
    "t#TK#I#h#key, k",
    PatternRole.SHOWS,
    "Which notification has this host_system_id?",
)
CREATE = transact(
    "jobs.create",
    (INBOX,),
    "t#TJ#job, job, if absent; t#TL#shard, jb#job; t#_Q#shard, ms#T#job",
    "Start a job: itself, its place in the tenant's list, its place among those that are due.",
)
PUT_CHUNKS = batch_write("jobs.put_chunks", INBOX, "t#TJ#job, k#n", "The users of a job, 100 to a chunk.")
READ = get(
    "jobs.read", INBOX, "t#TJ#job, job", PatternRole.RECORDS, "Is it paused or cancelled? Asked per chunk."
)
READ_CHUNK = get("jobs.read_chunk", INBOX, "t#TJ#job, k#n", PatternRole.DELIVERS, "One chunk; immutable.")
READ_DONE = get("jobs.read_done", INBOX, "t#TJ#job, d#n", PatternRole.RECORDS, "Is a chunk done already?")
MARK_DONE = put("jobs.mark_done", INBOX, "t#TJ#job, d#n", "A chunk is done; the same again is no harm.")
READ_PROGRESS = query(
    "jobs.read_progress",
    INBOX,
    "t#TJ#job, begins with d#",
    PatternRole.SHOWS,
    "Done, failed, rate, time left.",
)
CHANGE = update("jobs.change", INBOX, "t#TJ#job, job, if version = n", "Pause, resume, cancel, finish.")
LIST = query(
    "jobs.list",
    INBOX,
    "t#TL#0 … t#TL#15, begins with jb#, descending, limit",
    PatternRole.SHOWS,
    "A tenant's jobs, newest first; in 16 parts, so that sends do not meet in one.",
    consistency=Consistency.EVENTUAL,
)
LIST_DUE = query(
    "jobs.list_due",
    INBOX,
    "t#_Q#shard, ms < now",
    PatternRole.RECORDS,
    "What waits for its time, or for a new holder.",
)
ENQUEUE = put("jobs.enqueue", INBOX, "t#_Q#shard, ms#T#job", "A job that was paused goes on.")
RESCHEDULE = transact(
    "jobs.reschedule",
    (INBOX,),
    "t#_Q#shard: the old ms#T#job if it exists, the new one",
    "Move a job to another time, so that a dead holder's job comes up again.",
)
DEQUEUE = delete("jobs.dequeue", INBOX, "t#_Q#shard, ms#T#job", "A job is over.")
