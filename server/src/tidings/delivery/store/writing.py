"""News as an update: which attributes each part is made of, and the condition under which it may be written.

How an update is spelled depends only on which attributes it has, and there are few such sets: each is spelled once.
"""

from functools import lru_cache
from typing import NamedTuple

from tidings.delivery.model import News, Shown
from tidings.delivery.store.items import OF_A_CHAT, OF_A_ROW, HeadNames
from tidings.platform.dynamo.values import Value

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


class Spelled(NamedTuple):
    """An UpdateItem's expressions. Every name is given by `#`: some are words that DynamoDB keeps for itself."""

    update: str
    condition: str
    names: dict[str, str]


class Writing(NamedTuple):
    spelled: Spelled
    values: dict[str, Value]


def all_at_once(news: News, names: HeadNames) -> Writing:
    """Everything, if the head is news and so is what is shown: then all the rest is (see `rules.py`)."""
    return _writing(news, names, is_each_checked=False)


def part_by_part(news: News, names: HeadNames) -> Writing:
    """Everything, if each part is news."""
    return _writing(news, names, is_each_checked=True)


def _writing(news: News, names: HeadNames, *, is_each_checked: bool) -> Writing:
    sets = _attributes(news, names)
    removes = () if news.shown is None else _absent(news.shown)
    values = {f":{name}": value for name, value in sets.items()}
    return Writing(_spelled(tuple(sets), removes, is_each_checked=is_each_checked), values)


def _attributes(news: News, names: HeadNames) -> dict[str, Value]:
    sets: dict[str, Value] = {}
    if news.head is not None:
        sets[names.sequence], sets[names.ordinal] = news.head
    if news.shown is not None:
        sets |= _shown(news.shown)
    if news.own is not None:
        sets["own_sequence"], sets["own_ordinal"] = news.own
    if news.joined is not None:
        sets["joined_sequence"], sets["joined_ordinal"], sets["joined_at"] = news.joined
    if news.removed is not None:
        sets["removed_sequence"] = news.removed
    if news.is_large:
        sets["large"] = True
    if news.other is not None:
        sets["other"] = news.other
    if news.epoch:
        sets["epoch"] = news.epoch
    return sets


def _shown(shown: Shown) -> dict[str, Value]:
    sets: dict[str, Value] = {
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


def _absent(shown: Shown) -> tuple[str, ...]:
    """What an earlier message may have left there."""
    held = (("last_preview", shown.preview), ("preview_expires_at", shown.expires_at_s))
    return tuple(name for name, value in held if value is None)


@lru_cache(maxsize=512)
def _spelled(sets: tuple[str, ...], removes: tuple[str, ...], *, is_each_checked: bool) -> Spelled:
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
    if removes:
        update += " REMOVE " + ", ".join(f"#{name}" for name in removes)
    checked = [name for name in sets if is_each_checked or name in _HEADS or name == _SHOWN]
    conditions = [condition for name in checked if (condition := _condition(name))]
    if "epoch" in sets:
        conditions.append(OF_THIS_EPOCH)
    return Spelled(update, " AND ".join(conditions), {f"#{name}": name for name in (*sets, *removes)})


def _condition(name: str) -> str | None:
    if name == _SHOWN:
        return _SHOWS_MORE
    if name in _FORWARD:
        return f"(attribute_not_exists(#{name}) OR #{name} < :{name})"
    return f"attribute_not_exists(#{name})" if name in _ONCE else None
