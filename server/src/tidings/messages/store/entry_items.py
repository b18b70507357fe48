"""Convert items of `messages` to entries.

A Query returns many entries, so these are decoded directly from the response's bytes (`EntryItem`). A test checks that
both conversions give the same result.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import Struct

from tidings.kernel.clock import format_ms, parse_ms, parse_ms_or_none
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.model import ChatRules, Entry, EntryKind
from tidings.platform.dynamo.codec import Attributes, AttributeValue, Item, ItemValue, decode_value
from tidings.platform.dynamo.operations import (
    BinaryValue,
    IntegerAttribute,
    ItemType,
    StringValue,
    item_type,
)
from tidings.schema.tables.items.chats import chat_key

_KINDS: Mapping[str, EntryKind] = {kind.value: kind for kind in EntryKind}
_OPTIONAL = (
    ("content_type", "content_type"),
    ("visible_until", "visible_until_ms"),
    ("refers_to", "refers_to"),
    ("emoji", "emoji"),
    ("name", "name"),
    ("role", "role"),
    ("member_count", "member_count"),
    ("until", "until_ms"),
    ("reason", "reason"),
    ("archived_in", "archived_in"),
    ("archive_key", "archive_key"),
)
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
        "epoch",
        "imported",
    }
)
"""The attributes of a message without edits or reactions, as nearly all are."""


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
    if entry.attachments:
        item["attachments"] = list(entry.attachments)
    if entry.rules is not None:
        frozen, slow_mode_s, unfrozen_at = msgspec.structs.astuple(entry.rules)
        item["chat_rules"] = [int(frozen), slow_mode_s, unfrozen_at]
    if entry.epoch:
        item["epoch"] = entry.epoch
    if entry.large:
        item["large"] = True
    return item


def entry_from_item(item: Item) -> Entry:
    """Convert an item, also one that was read with the projection `_KEYS_ONLY`."""
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
        epoch=int(item.get("epoch", 0)),
        **({} if item.keys() <= _PLAIN else _rare_fields(item)),
    )


def _rare_fields(item: Item) -> dict[str, Any]:
    return {
        "edited_at_ms": parse_ms_or_none(item.get("edited_at")),
        "redacted_at_ms": parse_ms_or_none(item.get("redacted_at")),
        "users": tuple(item.get("users", ())),
        "attachments": tuple(item.get("attachments", ())),
        "large": item.get("large", False),
        "reaction_counts": _counts(item.get("reaction_counts")),
        "reaction_users": tuple(item.get("reaction_users", ())),
        "rules": _rules(item.get("chat_rules")),
        **{field: item.get(name) for name, field in _OPTIONAL},
    }


def _counts(value: dict[str, Any] | None) -> dict[str, int] | None:
    return None if value is None else {emoji: int(count) for emoji, count in value.items()}


def _rules(value: list[Any] | None) -> ChatRules | None:
    if value is None:
        return None
    frozen, slow_mode_s, unfrozen_at = value
    return ChatRules(bool(frozen), int(slow_mode_s), int(unfrozen_at))


class EntryItem(Struct, gc=False):
    """An item in DynamoDB's types. Few entries have an attribute from `edited_at` on."""

    sequence: IntegerAttribute
    ordinal: IntegerAttribute
    kind: StringValue
    sender_id: StringValue
    client_message_id: StringValue
    fingerprint: BinaryValue
    created_at: StringValue | None = None
    content: BinaryValue | None = None
    epoch: IntegerAttribute | None = None
    edited_at: AttributeValue | None = None
    redacted_at: AttributeValue | None = None
    users: AttributeValue | None = None
    attachments: AttributeValue | None = None
    large: AttributeValue | None = None
    reaction_counts: AttributeValue | None = None
    reaction_users: AttributeValue | None = None
    content_type: AttributeValue | None = None
    visible_until: AttributeValue | None = None
    refers_to: AttributeValue | None = None
    emoji: AttributeValue | None = None
    name: AttributeValue | None = None
    role: AttributeValue | None = None
    member_count: AttributeValue | None = None
    until: AttributeValue | None = None
    reason: AttributeValue | None = None
    chat_rules: AttributeValue | None = None
    archived_in: AttributeValue | None = None
    archive_key: AttributeValue | None = None


ENTRY_ITEM: Final[ItemType[EntryItem]] = item_type(EntryItem)
_RARE: Final = EntryItem.__struct_fields__[EntryItem.__struct_fields__.index("edited_at") :]
_NO_RARE: Final = (None,) * len(_RARE)
_rare_values: Callable[[EntryItem], tuple[AttributeValue | None, ...]] = attrgetter(*_RARE)


def entry_from_bytes(item: EntryItem) -> Entry:
    rare = _rare_values(item)
    created_at, content, epoch = item.created_at, item.content, item.epoch
    return Entry(
        sequence=item.sequence.N,
        ordinal=item.ordinal.N,
        kind=_KINDS[item.kind.S],
        sender=UserId(item.sender_id.S),
        client_key=ClientKey(item.client_message_id.S),
        fingerprint=item.fingerprint.B,
        created_at_ms=0 if created_at is None else parse_ms(created_at.S),
        content=None if content is None else content.B,
        epoch=0 if epoch is None else epoch.N,
        **({} if rare == _NO_RARE else _rare_fields_of(rare)),
    )


def _rare_fields_of(rare: tuple[AttributeValue | None, ...]) -> dict[str, Any]:
    values = zip(_RARE, rare, strict=True)
    return _rare_fields({name: decode_value(value) for name, value in values if value is not None})
