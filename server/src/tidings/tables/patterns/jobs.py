"""How long work is kept in the inbox table: claimed once, cut in chunks, done chunk by chunk."""

from tidings.platform.dynamo.access import Consistency
from tidings.tables.declaration import INBOX
from tidings.tables.patterns.forms import PatternRole, batch_write, delete, get, put, query, transact, update

CLAIM_KEY = put(
    "jobs.claim_key",
    INBOX,
    "t#TK#I#i#key, k, if absent",
    "A send under this key or host_system_id is a repeat from now on. A failed condition returns the first.",
)
FIND_KEY = get(
    "jobs.find_key", INBOX, "t#TK#I#h#key, k", PatternRole.SHOWS, "Which notice has this host_system_id?"
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
