"""Access patterns of the exports of users."""

from tidings.schema.tables.declaration import INBOX
from tidings.schema.tables.patterns.builders import PatternRole, delete, get, put, update

CREATE_EXPORT = put(
    "exports.create",
    INBOX,
    "t#TX#U, export, if absent or of the export that it replaces",
    "Request the export of a user. A failed condition returns the other export.",
)
READ_EXPORT = get(
    "exports.read",
    INBOX,
    "t#TX#U, export",
    PatternRole.AUTHORISES,
    "How far the export of a user is: for its worker, and to show it.",
)
TAKE_EXPORT = update(
    "exports.take",
    INBOX,
    "t#TX#U, export, if turn = n and the cursor is the one that was read",
    "Become the worker that continues an export.",
)
SAVE_EXPORT = put(
    "exports.save",
    INBOX,
    "t#TX#U, export, if turn = n and it runs",
    "Store the cursor of an export after each step, or its result.",
)
DELETE_EXPORT = delete(
    "exports.delete",
    INBOX,
    "t#TX#U, export",
    "Delete the export of an erased user.",
    role=PatternRole.MAINTAINS,
)
