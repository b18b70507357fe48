"""News as an update: which attributes each part is made of, and the condition under which it may be written.

How an update is spelled depends only on which attributes it has, and there are few such sets: each is spelled once.
"""

from functools import lru_cache
from typing import NamedTuple

from tidings.delivery.model import LastMessageRef, RowUpdate
from tidings.delivery.store.items import OF_A_CHAT, OF_A_ROW, HeadNames
from tidings.platform.dynamo.values import ItemValue

_HEADS = frozenset({OF_A_ROW.sequence, OF_A_CHAT.sequence})
_FORWARD = _HEADS | {"own_sequence", "joined_sequence", "removed_sequence"}
"""Attributes that only go forward, and the attributes of their part with them."""
_ONCE = frozenset({"large", "other"})
_SHOWN = "preview_sequence"
OF_THIS_EPOCH = "(attribute_not_exists(chat_id) OR #epoch = :epoch)"
"""Of every write that raises a row or a head. One of another epoch may be ahead of its log: it is settled first."""
_SHOWS_MORE = (
    "(attribute_not_exists(#preview_sequence) OR #preview_sequence < :preview_sequence"
    " OR (#preview_sequence = :preview_sequence AND #preview_version < :preview_version))"
)


class UpdateExpression(NamedTuple):
    """An UpdateItem's expressions. Every name is given by `#`: some are words that DynamoDB keeps for itself."""

    update: str
    condition: str
    names: dict[str, str]


class RowWrite(NamedTuple):
    expression: UpdateExpression
    values: dict[str, ItemValue]


def update_all(update: RowUpdate, names: HeadNames) -> RowWrite:
    """Everything, if the head is news and so is what is shown: then all the rest is (see `rules.py`)."""
    return _writing(update, names, is_each_checked=False)


def update_parts(update: RowUpdate, names: HeadNames) -> RowWrite:
    """Everything, if each part is news."""
    return _writing(update, names, is_each_checked=True)


def _writing(update: RowUpdate, names: HeadNames, *, is_each_checked: bool) -> RowWrite:
    sets = _attributes(update, names)
    removes = () if update.shown is None else _absent(update.shown)
    values = {f":{name}": value for name, value in sets.items()}
    return RowWrite(_update_expression(tuple(sets), removes, is_each_checked=is_each_checked), values)


def _attributes(update: RowUpdate, names: HeadNames) -> dict[str, ItemValue]:
    sets: dict[str, ItemValue] = {}
    if update.head is not None:
        sets[names.sequence], sets[names.ordinal] = update.head
    if update.shown is not None:
        sets |= _preview_values(update.shown)
    if update.own is not None:
        sets["own_sequence"], sets["own_ordinal"] = update.own
    if update.joined is not None:
        sets["joined_sequence"], sets["joined_ordinal"], sets["joined_at"] = update.joined
    if update.removed is not None:
        sets["removed_sequence"] = update.removed
    if update.is_large:
        sets["large"] = True
    if update.other is not None:
        sets["other"] = update.other
    if update.epoch:
        sets["epoch"] = update.epoch
    return sets


def _preview_values(shown: LastMessageRef) -> dict[str, ItemValue]:
    sets: dict[str, ItemValue] = {
        "preview_sequence": shown.sequence,
        "preview_version": shown.version,
        "last_at": shown.at_ms,
        "last_sender": shown.sender,
    }
    if shown.preview is not None:
        sets["last_preview"] = shown.preview
    if shown.expires_at_s is not None:
        sets["preview_expires_at"] = shown.expires_at_s
    return sets


def _absent(shown: LastMessageRef) -> tuple[str, ...]:
    """What an earlier message may have left there."""
    held = (("last_preview", shown.preview), ("preview_expires_at", shown.expires_at_s))
    return tuple(name for name, value in held if value is None)


@lru_cache(maxsize=512)
def _update_expression(
    sets: tuple[str, ...], removes: tuple[str, ...], *, is_each_checked: bool
) -> UpdateExpression:
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
    if removes:
        update += " REMOVE " + ", ".join(f"#{name}" for name in removes)
    checked = [name for name in sets if is_each_checked or name in _HEADS or name == _SHOWN]
    conditions = [condition for name in checked if (condition := _condition(name))]
    if "epoch" in sets:
        conditions.append(OF_THIS_EPOCH)
    return UpdateExpression(
        update, " AND ".join(conditions), {f"#{name}": name for name in (*sets, *removes)}
    )


def _condition(name: str) -> str | None:
    if name == _SHOWN:
        return _SHOWS_MORE
    if name in _FORWARD:
        return f"(attribute_not_exists(#{name}) OR #{name} < :{name})"
    return f"attribute_not_exists(#{name})" if name in _ONCE else None
