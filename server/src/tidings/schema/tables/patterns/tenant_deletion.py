"""Access patterns of the deletion of a tenant: list and delete the rows of any partition that belongs to it."""

from collections.abc import Mapping
from typing import Final

from tidings.schema.tables.declaration import (
    AUDIT,
    CHAT_MEMBERSHIPS,
    INBOX,
    REPORTS,
    SESSIONS,
    TABLES,
    TENANTS,
)
from tidings.schema.tables.patterns.builders import (
    Pattern,
    PatternRole,
    batch_write,
    put,
    query,
    query_index,
    transact,
)

KEPT: Final = frozenset({AUDIT.name})
"""Tables whose rows of a deleted tenant remain."""
_DELETED: Final = tuple(table for table in TABLES if table.name not in KEPT)

FENCE_TENANT = transact(
    "tenants.fence",
    (TENANTS,),
    "tenant, settings; _system, tenant#T; _system#revoked",
    "Replace the settings of a tenant by a tombstone, and have every process refuse its credentials.",
)
ADD_TO_DIRECTORY = put(
    "inbox.add_to_directory",
    INBOX,
    "t#TD#hash, u#U",
    "Add a member of a chat to the directory of users, so that the deletion of their tenant finds them.",
    role=PatternRole.MAINTAINS,
)
LIST_CHATS_OF_USER = query_index(
    "memberships.list_to_delete",
    CHAT_MEMBERSHIPS,
    "user_id",
    PatternRole.MAINTAINS,
    "The chats of a user whose tenant is deleted.",
    index="user_chats-index",
)
LIST_SESSIONS_OF_USER = query_index(
    "sessions.list_to_delete",
    SESSIONS,
    "user_id",
    PatternRole.MAINTAINS,
    "The sessions of a user whose tenant is deleted.",
    index="user_sessions-index",
)
LIST_REVIEWS = query_index(
    "reports.list_to_delete",
    REPORTS,
    "queue_shard",
    PatternRole.MAINTAINS,
    "The reviews of a tenant that is deleted.",
    index="review_queue-index",
)


def _list(name: str) -> Pattern:
    table = next(each for each in TABLES if each.name == name)
    return query(
        f"{name}.list_of_tenant",
        table,
        table.partition.name,
        PatternRole.MAINTAINS,
        "Rows of one partition of a tenant that is deleted.",
    )


def _delete(name: str) -> Pattern:
    table = next(each for each in TABLES if each.name == name)
    keys = table.partition.name if table.sort is None else f"({table.partition.name}, {table.sort.name})"
    return batch_write(
        f"{name}.delete_of_tenant",
        table,
        f"{keys} for each",
        "Delete rows of a tenant that is deleted.",
        role=PatternRole.MAINTAINS,
    )


LISTS: Final[Mapping[str, Pattern]] = {table.name: _list(table.name) for table in _DELETED}
DELETES: Final[Mapping[str, Pattern]] = {table.name: _delete(table.name) for table in _DELETED}
