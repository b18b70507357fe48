"""Access patterns of jobs."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import INBOX
from tidings.schema.tables.patterns.builders import (
    PatternRole,
    batch_write,
    delete,
    get,
    put,
    query,
    transact,
    update,
)

CLAIM_KEY = put(
    "jobs.claim_key",
    INBOX,
    "t#TK#I#i#key, k, if absent",
    "Claim a key or host_system_id for a send, or a key for a job that adds members. A failed condition returns the first "
    "claim.",
)
FIND_KEY = get(
    "jobs.find_key", INBOX, "t#TK#I#h#key, k", PatternRole.SHOWS, "The notification with this host_system_id."
)
CREATE = transact(
    "jobs.create",
    (INBOX,),
    "t#TJ#job, job, if absent; t#TL#shard, jb#job; t#_Q#shard, ms#T#job",
    "Start a job: the job, its entry in the tenant's list, its first check.",
)
PUT_CHUNKS = batch_write(
    "jobs.put_chunks", INBOX, "t#TJ#job, k#n", "Store the users of a job, 100 per chunk."
)
READ = get("jobs.read", INBOX, "t#TJ#job, job", PatternRole.RECORDS, "The state of a job, for each chunk.")
READ_CHUNK = get("jobs.read_chunk", INBOX, "t#TJ#job, k#n", PatternRole.DELIVERS, "One chunk; immutable.")
READ_DONE = get("jobs.read_done", INBOX, "t#TJ#job, d#n", PatternRole.RECORDS, "Whether a chunk is done.")
MARK_DONE = put("jobs.mark_done", INBOX, "t#TJ#job, d#n", "Record that a chunk is done. Safe to repeat.")
READ_PROGRESS = query(
    "jobs.read_progress",
    INBOX,
    "t#TJ#job, begins with d#",
    PatternRole.SHOWS,
    "Done, failed, rate, time left.",
)
RENEW = update(
    "jobs.renew",
    INBOX,
    "t#TJ#job: job, k#n or d#n, if it expires earlier",
    "Store an unfinished job longer, with its chunks and marks.",
)
LIST_AGAIN = put("jobs.list_again", INBOX, "t#TL#shard, jb#job", "Store the list entry of such a job longer.")
CHANGE = update("jobs.change", INBOX, "t#TJ#job, job, if version = n", "Pause, resume, cancel, finish.")
LIST = query(
    "jobs.list",
    INBOX,
    "t#TL#0 … t#TL#15, begins with jb#, descending, limit",
    PatternRole.SHOWS,
    "A tenant's jobs, newest first; in 16 partitions, to spread the load of sends.",
    consistency=Consistency.EVENTUAL,
)
LIST_DUE = query(
    "jobs.list_due",
    INBOX,
    "t#_Q#shard, ms < now",
    PatternRole.RECORDS,
    "Jobs whose check is due.",
    # Half the units of a strong read: an idle process makes four a second. Most checks are due seconds after they were
    # written; a newer one can be found one round later. A check that another process has moved or removed has no effect,
    # because it is moved on condition that it exists, and the end of a job is reported under the same id.
    consistency=Consistency.EVENTUAL,
)
ENQUEUE = put(
    "jobs.enqueue", INBOX, "t#_Q#shard, ms#T#job", "Schedule the next check of a job that was resumed."
)
RESCHEDULE = transact(
    "jobs.reschedule",
    (INBOX,),
    "t#_Q#shard: the old ms#T#job if it exists, the new one",
    "Move the check of a job to a later time.",
)
DEQUEUE = delete("jobs.dequeue", INBOX, "t#_Q#shard, ms#T#job", "Remove the check of a finished job.")
