"""Convert rows, counts, expiry entries and broadcast states to items of `inbox` and back. Empty values are omitted."""

from tidings.inboxes.model import (
    BroadcastState,
    DigestKey,
    ExpiryEntry,
    InboxKey,
    NotificationId,
    NotificationRow,
    OpenDigest,
    UnreadCounts,
)
from tidings.inboxes.preferences import Exclusion
from tidings.platform.dynamo.codec import Item, ItemValue
from tidings.schema.tables.items.inboxes import (
    COUNTS_SORT,
    DIGEST_SORT,
    EXPIRING_SORT,
    OF_USER,
    ROW_SORT,
    STATE_SORT,
)
from tidings.schema.tables.model import KeyTemplate

COUNTS_KEY, STATE_KEY = COUNTS_SORT.render(), STATE_SORT.render()
FIRST_ROW, FIRST_COUNTS, AFTER_EXPIRING = (KeyTemplate(text).render() for text in ("m#", "c#", "e$"))
_TIMES = {
    "delivered": "delivered_ms",
    "readat": "read_ms",
    "reopened": "reopened_ms",
    "archived": "archived_ms",
    "redacted": "redacted_ms",
    "expires_at_ms": "expires_ms",
    "withdrawn": "withdrawn_ms",
}
_DIGEST_TTL_S = 24 * 3600
"""How long an item of a digest stays after its window, at least."""
_MARKS = {
    "read_before": "read_before_ms",
    "seen_before": "seen_before_ms",
    "kept_from": "retained_from_ms",
    "latest": "latest_ms",
}


def inbox_partition(inbox_key: InboxKey) -> str:
    return OF_USER.render(tenant=inbox_key.tenant, user=inbox_key.user, inbox=inbox_key.inbox)


def row_key(inbox_key: InboxKey, notification: NotificationId) -> dict[str, ItemValue]:
    return {"PK": inbox_partition(inbox_key), "SK": ROW_SORT.render(notification=notification)}


def counts_key(inbox_key: InboxKey) -> dict[str, ItemValue]:
    return {"PK": inbox_partition(inbox_key), "SK": COUNTS_KEY}


def expiry_key(inbox_key: InboxKey, expiring: ExpiryEntry) -> dict[str, ItemValue]:
    return {
        "PK": inbox_partition(inbox_key),
        "SK": EXPIRING_SORT.render(at_ms=expiring.at_ms, notification=expiring.id),
    }


def row_item(inbox_key: InboxKey, row: NotificationRow) -> dict[str, ItemValue]:
    item = row_key(inbox_key, row.id) | {
        "id": row.id,
        "category": row.category,
        "received": row.sent_ms,
        "host_system_id": row.host_system_id,
        "excluded": row.excluded,
        "gathered": row.gathered or None,
        "newest": row.newest,
        "digest_of": row.digest_of,
    }
    times = {name: getattr(row, field) for name, field in _TIMES.items()}
    return {name: value for name, value in (item | times).items() if value is not None}


def row_from_item(item: Item) -> NotificationRow:
    times = {field: int(item[name]) if name in item else None for name, field in _TIMES.items()}
    return NotificationRow(
        id=NotificationId(item["id"]),
        category=int(item["category"]),
        host_system_id=item.get("host_system_id"),
        excluded=Exclusion(item["excluded"]) if "excluded" in item else None,
        gathered=int(item.get("gathered", 0)),
        newest=item.get("newest"),
        digest_of=item.get("digest_of"),
        **times,
    )


def digest_key(inbox_key: InboxKey, key: DigestKey) -> dict[str, ItemValue]:
    return {
        "PK": inbox_partition(inbox_key),
        "SK": DIGEST_SORT.render(category=key.category, digest=key.key),
    }


def digest_item(inbox_key: InboxKey, digest: OpenDigest) -> dict[str, ItemValue]:
    return digest_key(inbox_key, digest.key) | {
        "first": digest.first,
        "until": digest.until_ms,
        "ttl": digest.until_ms // 1000 + _DIGEST_TTL_S,
    }


def digest_from_item(key: DigestKey, item: Item) -> OpenDigest:
    return OpenDigest(key, NotificationId(item["first"]), int(item["until"]))


def counts_item(inbox_key: InboxKey, counts: UnreadCounts) -> dict[str, ItemValue]:
    """Return the item of the counts. `last_updated` is the inbox's own time of the last change."""
    item: dict[str, ItemValue] = counts_key(inbox_key) | {
        "count": counts.total,
        "unseen": counts.unseen,
        "version": counts.version,
        "last_updated": counts.latest_ms,
    }
    item |= {name: getattr(counts, field) for name, field in _MARKS.items() if getattr(counts, field)}
    item |= {count_name(code): count for code, count in counts.by_category.items() if count}
    item |= {throttle_name(code): value for code, value in counts.throttled.items()}
    if counts.category_read_before_ms:
        item["category_read_before"] = {
            str(code): at_ms for code, at_ms in counts.category_read_before_ms.items()
        }
    return item


def count_name(category: int) -> str:
    return f"n{category}"


def throttle_name(category: int) -> str:
    return f"t{category}"


def counts_from_item(item: Item) -> UnreadCounts:
    by_category = {int(name[1:]): int(value) for name, value in item.items() if _is_count(name)}
    marks = item.get("category_read_before", {})
    return UnreadCounts(
        total=int(item.get("count", 0)),
        by_category={code: count for code, count in by_category.items() if count},
        unseen=int(item.get("unseen", 0)),
        category_read_before_ms={int(code): int(at_ms) for code, at_ms in marks.items()},
        throttled={int(name[1:]): int(value) for name, value in item.items() if _is_count(name, "t")},
        version=int(item["version"]),
        **{field: int(item[name]) for name, field in _MARKS.items() if name in item},
    )


def _is_count(name: str, kind: str = "n") -> bool:
    return name[0] == kind and name[1:].isdecimal()


def expiry_item(inbox_key: InboxKey, expiring: ExpiryEntry) -> dict[str, ItemValue]:
    return expiry_key(inbox_key, expiring) | {
        "category": expiring.category,
        "since": expiring.since_ms,
        "delivered": expiring.delivered_ms,
    }


def expiry_from_item(item: Item) -> ExpiryEntry:
    _, at_ms, notification = item["SK"].split("#")
    return ExpiryEntry(
        id=NotificationId(notification),
        at_ms=int(at_ms),
        category=int(item["category"]),
        since_ms=int(item["since"]),
        delivered_ms=int(item["delivered"]),
    )


def broadcast_state_item(inbox_key: InboxKey, state: BroadcastState) -> dict[str, ItemValue]:
    """Return the item of a broadcast state. DynamoDB has no empty sets, so they are omitted."""
    item: dict[str, ItemValue] = {
        "PK": inbox_partition(inbox_key),
        "SK": STATE_KEY,
        "joined": state.joined,
        "version": state.version,
        "last_updated": state.updated_ms,
    }
    if state.read_before:
        item["read_before"] = state.read_before
    if state.seen_before:
        item["seen_before"] = state.seen_before
    item |= {name: each for name, each in (("read", state.read), ("archived", state.archived)) if each}
    for name, numbers in (("unread", state.unread), ("category_read_before", state.category_read_before)):
        if numbers:
            item[name] = {str(key): value for key, value in numbers.items()}
    return item


def broadcast_state_from_item(item: Item) -> BroadcastState:
    numbers = {
        name: {int(key): int(value) for key, value in item.get(name, {}).items()}
        for name in ("unread", "category_read_before")
    }
    return BroadcastState(
        joined=int(item["joined"]),
        read_before=int(item.get("read_before", 0)),
        seen_before=int(item.get("seen_before", 0)),
        read=frozenset(item.get("read", ())),
        archived=frozenset(item.get("archived", ())),
        updated_ms=int(item["last_updated"]),
        version=int(item["version"]),
        **numbers,
    )
