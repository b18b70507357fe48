"""Access patterns of operators, dead letters and the audit log."""

from tidings.schema.tables.declaration import AUDIT, TENANTS
from tidings.schema.tables.patterns.builders import PatternRole, delete, get, put, query

PUT_OPERATOR_SESSION = put(
    "tenants.put_operator_session",
    TENANTS,
    "_system#operator_sessions, id, if absent",
    "Sign in to the console.",
)
FIND_OPERATOR_SESSION = get(
    "tenants.find_operator_session",
    TENANTS,
    "_system#operator_sessions, id",
    PatternRole.AUTHORISES,
    "The operator of a request to the console.",
)
LIST_OPERATOR_SESSIONS = query(
    "tenants.list_operator_sessions",
    TENANTS,
    "_system#operator_sessions",
    PatternRole.SHOWS,
    "All sign-ins to the console.",
)
END_OPERATOR_SESSION = delete(
    "tenants.end_operator_session",
    TENANTS,
    "_system#operator_sessions, id, if it exists",
    "Sign out, or end the session of another operator.",
)
MARK_DEAD_LETTER = put(
    "tenants.mark_dead_letter",
    TENANTS,
    "_system#dead_letters, id of the topic#partition#offset, if absent",
    "A dead letter was replayed or dropped.",
)
FIND_DEAD_LETTER_MARKS = query(
    "tenants.find_dead_letter_marks",
    TENANTS,
    "_system#dead_letters, between two offsets",
    PatternRole.SHOWS,
    "Which dead letters of a page were handled.",
)
APPEND_AUDIT = put(
    "audit.append",
    AUDIT,
    "tenant#month, ULID, if absent",
    "Record the start or the end of an administrative action.",
)
LIST_AUDIT = query(
    "audit.list",
    AUDIT,
    "tenant#month, after or before a ULID",
    PatternRole.SHOWS,
    "Administrative actions of a month, for the console and exports.",
)
