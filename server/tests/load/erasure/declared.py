"""What remains of an erased user by decision, with its time: the table of docs/adr/0039-erase-a-user.md, as far as secrets go.

The search reports everything else as a violation. Nothing is added here that the decision does not have.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Final, NamedTuple

from load.erasure.secret_words import PlantedSecret
from tidings.schema.tables.model import DAILY_BACKUP_RETENTION_DAYS


class Form(StrEnum):
    CLEAR = "clear"
    TENANT_KEY = "the tenant's key opens it"
    USER_KEY = "the key of a user opens it"
    SEALED = "sealed, and no key opens it"


class DeclaredRemains(NamedTuple):
    """`places` and `kinds`: empty means all. `until`: when it is deleted, or what it belongs to."""

    store: str
    places: Collection[str]
    form: Form
    kinds: Collection[str]
    until: str


IN_ENTRIES: Final = ("client key", "reason of a ban", "name of a group")
"""Entries have them in clear, and a stream or topic has entries as they were written."""
NOTIFIED: Final = ("notification", "shared notification")
WRITTEN: Final = (
    *("message", "edited message", "last message", "ephemeral message", "data of a message", "file"),
    *("file name", "name of a group", "reason of a ban", "display name", "shared notification"),
)
"""What another member could read, and has in the archive of their own export."""
_DB, _VOLUMES = "files of dynoxide", "files of seaweedfs"
_STREAM_S, _BACKUPS, _ARCHIVES = "24 hours", f"{DAILY_BACKUP_RETENTION_DAYS} days", "7 days"

DECLARED: Final = (
    DeclaredRemains(
        "tables", ("chats", "messages"), Form.CLEAR, ("name of a group",), "as long as the group"
    ),
    DeclaredRemains("tables", ("inbox",), Form.TENANT_KEY, NOTIFIED, "as long as the notification"),
    DeclaredRemains("tables", ("reports",), Form.SEALED, ("text of a report",), "180 days"),
    DeclaredRemains("change stream", ("messages",), Form.CLEAR, IN_ENTRIES, _STREAM_S),
    DeclaredRemains("change stream", ("messages",), Form.SEALED, (), _STREAM_S),
    DeclaredRemains("kafka", ("messages",), Form.CLEAR, IN_ENTRIES, "48 hours"),
    DeclaredRemains("kafka", ("messages",), Form.SEALED, (), "48 hours"),
    DeclaredRemains("kafka", ("messages-dead",), Form.CLEAR, IN_ENTRIES, "14 days"),
    DeclaredRemains("kafka", ("messages-dead",), Form.SEALED, (), "14 days"),
    DeclaredRemains("objects", ("exports",), Form.CLEAR, WRITTEN, _ARCHIVES),
    DeclaredRemains(
        "backup",
        (),
        Form.CLEAR,
        (*IN_ENTRIES, "file name", "device name", "attribute"),
        _BACKUPS,
    ),
    DeclaredRemains("backup", ("devices",), Form.TENANT_KEY, ("push token",), _BACKUPS),
    DeclaredRemains("backup", ("inbox",), Form.TENANT_KEY, NOTIFIED, _BACKUPS),
    DeclaredRemains("backup", (), Form.SEALED, (), _BACKUPS),
    # The files of the engines have what is declared above for the tables, the stream and the objects.
    DeclaredRemains(_DB, (), Form.CLEAR, IN_ENTRIES, _STREAM_S),
    DeclaredRemains(_DB, (), Form.TENANT_KEY, NOTIFIED, "as long as the notification"),
    DeclaredRemains(_DB, (), Form.SEALED, (), "180 days"),
    DeclaredRemains(_VOLUMES, (), Form.CLEAR, WRITTEN, _ARCHIVES),
)


def declared(store: str, place: str, form: Form, secret: PlantedSecret) -> DeclaredRemains | None:
    """Return the declaration that allows a find, or None."""
    for each in DECLARED:
        is_here = each.store == store and each.form is form and (not each.places or place in each.places)
        if is_here and (not each.kinds or secret.kind in each.kinds):
            return each
    return None
