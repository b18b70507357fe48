"""Convert entries to items of the table `messages`, and back. Empty attributes are omitted.

A message's id is not stored: it consists of the item's key.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from tidings.kernel.clock import format_ms, parse_ms, parse_ms_or_none
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.model import Draft, Entry, EntryKind, IdempotencyKey, KeyRecord, Refusal
from tidings.platform.dynamo.codec import Attributes, Item, ItemValue
from tidings.schema.tables.items.chats import EPHEMERAL_CONTENT, KEY_SORT, REACTION, chat_key

_KINDS: Mapping[str, EntryKind] = {kind.value: kind for kind in EntryKind}
_PLAIN = frozenset(
    {
        "chat_id",
        "sequence",
        "ordinal",
        "kind",
        "sender_id",
        "client_message_id",
        "fingerprint",
        "created_at",
        "content",
    }
)
"""The attributes of a message without edits or reactions, as nearly all are."""
_OPTIONAL = (
    ("content_type", "content_type"),
    ("visible_until", "visible_until_ms"),
    ("refers_to", "refers_to"),
    ("emoji", "emoji"),
    ("name", "name"),
    ("role", "role"),
    ("member_count", "member_count"),
)

REACTION_BYTES = 15

KEYS_ONLY = "#s, #o, #k, #u, #c, #f"
KEYS_ONLY_NAMES = {
    "#s": "sequence",
    "#o": "ordinal",
    "#k": "kind",
    "#u": "sender_id",
    "#c": "client_message_id",
    "#f": "fingerprint",
}

METADATA = f"{KEYS_ONLY}, created_at, edited_at, redacted_at, refers_to"
"""Attributes of an entry without its content. Use with `KEYS_ONLY_NAMES`."""


def ephemeral_partition(chat: ChatKey) -> str:
    return EPHEMERAL_CONTENT.partition.render(tenant=chat.tenant, chat=chat.chat)


def reaction_partition(chat: ChatKey, sequence: int) -> str:
    return REACTION.partition.render(tenant=chat.tenant, chat=chat.chat, sequence=sequence)


def reaction_key(chat: ChatKey, sequence: int, user: UserId, emoji: str) -> dict[str, ItemValue]:
    """Return the key of a reaction. The sort key is a number, so user and emoji are hashed to 120 bits."""
    digest = hashlib.sha256(f"{user}\0{emoji}".encode()).digest()
    return {
        "chat_id": reaction_partition(chat, sequence),
        "sequence": int.from_bytes(digest[:REACTION_BYTES]),
    }


def entry_item(chat: ChatKey, entry: Entry) -> Attributes:
    item: dict[str, ItemValue] = {
        "chat_id": chat_key(chat),
        "sequence": entry.sequence,
        "ordinal": entry.ordinal,
        "kind": entry.kind.value,
        "sender_id": entry.sender,
        "client_message_id": entry.client_key,
        "fingerprint": entry.fingerprint,
        "created_at": format_ms(entry.created_at_ms),
    }
    if entry.content is not None:
        item["content"] = entry.content
    for name, field in _OPTIONAL:
        value = getattr(entry, field)
        if value is not None:
            item[name] = value
    if entry.users:
        item["users"] = list(entry.users)
    if entry.epoch:
        item["epoch"] = entry.epoch
    if entry.large:
        item["large"] = True
    return item


def entry_from_item(item: Item) -> Entry:
    """Convert an item, also one that was read with the projection `KEYS_ONLY`."""
    created_at = item.get("created_at")
    return Entry(
        sequence=int(item["sequence"]),
        ordinal=int(item["ordinal"]),
        kind=_KINDS[item["kind"]],
        sender=UserId(item["sender_id"]),
        client_key=ClientKey(item["client_message_id"]),
        fingerprint=item["fingerprint"],
        created_at_ms=0 if created_at is None else parse_ms(created_at),
        content=item.get("content"),
        **({} if item.keys() <= _PLAIN else _optional_fields(item)),
    )


def _optional_fields(item: Item) -> dict[str, Any]:
    return {
        "epoch": int(item.get("epoch", 0)),
        "edited_at_ms": parse_ms_or_none(item.get("edited_at")),
        "redacted_at_ms": parse_ms_or_none(item.get("redacted_at")),
        "users": tuple(item.get("users", ())),
        "large": item.get("large", False),
        "reaction_counts": _counts(item.get("reaction_counts")),
        "reaction_users": tuple(item.get("reaction_users", ())),
        **{field: item.get(name) for name, field in _OPTIONAL},
    }


def key_item(chat: ChatKey, entry: Entry, ttl_s: int) -> Attributes:
    """Return the idempotency row of a message whose sender has no position."""
    return {
        "chat_id": chat_key(chat),
        "client_message_id": key_sort_key(entry.key),
        "sequence": entry.sequence,
        "fingerprint": entry.fingerprint,
        "created_at": format_ms(entry.created_at_ms),
        "ttl": entry.created_at_ms // 1000 + ttl_s,
    }


def key_sort_key(key: IdempotencyKey) -> str:
    return KEY_SORT.render(sender=key.sender, client_key=key.client_key)


def refusal_item(chat: ChatKey, draft: Draft, code: Code, now_ms: int, ttl_s: int) -> Attributes:
    """Return the idempotency row with a refusal instead of a sequence, so that no other attempt is appended."""
    return {
        "chat_id": chat_key(chat),
        "client_message_id": key_sort_key(draft.key),
        "refused": code.value,
        "created_at": format_ms(now_ms),
        "ttl": now_ms // 1000 + ttl_s,
    }


def appended_from_item(item: Item) -> KeyRecord | Refusal:
    if "refused" in item:
        return Refusal(Code(item["refused"]))
    return KeyRecord(int(item["sequence"]), item["fingerprint"])


def _counts(value: dict[str, Any] | None) -> dict[str, int] | None:
    return None if value is None else {emoji: int(count) for emoji, count in value.items()}
