"""Access patterns of e-mail: configuration of an inbox, claims and results."""

from tidings.platform.dynamo.operations import Consistency
from tidings.schema.tables.declaration import INBOX
from tidings.schema.tables.patterns.builders import PatternRole, batch_get, get, put, query

READ_MAIL_CONFIG = get(
    "inbox.read_mail_config",
    INBOX,
    "t#T, se#I",
    PatternRole.SHOWS,
    "Sender name and templates of an inbox's mails; cached.",
)
WRITE_MAIL_CONFIG = put(
    "inbox.write_mail_config", INBOX, "t#T, se#I, if version = n", "Change the mails of an inbox."
)
READ_MAILS = batch_get(
    "inbox.read_mails",
    INBOX,
    "(t#TU#U#I, w#id) of each",
    PatternRole.DELIVERS,
    "Which mails of a chunk were sent by an earlier attempt.",
    consistency=Consistency.STRONG,
)
CLAIM_MAIL = put(
    "inbox.claim_mail",
    INBOX,
    "t#TU#U#I, w#id, if absent, deferred, or claimed and expired",
    "Claim a mail before it is sent, so that no other worker sends it.",
)
PUT_MAIL = put("inbox.put_mail", INBOX, "t#TU#U#I, w#id", "Record what happened to a mail.")
LIST_MAILS = query(
    "inbox.list_mails",
    INBOX,
    "t#TU#U#I, begins with w#, descending, limit",
    PatternRole.SHOWS,
    "The last mails of a user, for support.",
    consistency=Consistency.EVENTUAL,
)
