"""News as an update: which attributes each part is made of, and the condition under which it may be written."""

from typing import NamedTuple

from tidings.delivery.model import News, Shown
from tidings.delivery.store.items import HeadNames
from tidings.platform.dynamo.values import Value


class Writing(NamedTuple):
    """An UpdateItem's expressions. Every name is given by `#`: some are words that DynamoDB keeps for itself."""

    update: str
    condition: str
    names: dict[str, str]
    values: dict[str, Value]


class _Parts:
    def __init__(self) -> None:
        self.sets: dict[str, Value] = {}
        self.removes: list[str] = []
        self.conditions: list[str] = []

    def below(self, name: str, **attributes: Value) -> None:
        """A part that only goes forward by the attribute `name`."""
        self.sets |= attributes
        self.conditions.append(f"(attribute_not_exists(#{name}) OR #{name} < :{name})")

    def shown(self, shown: Shown) -> None:
        self.sets |= {
            "preview_sequence": shown.sequence,
            "preview_version": shown.version,
            "last_at": shown.at_ms,
            "last_sender": shown.sender,
        }
        for name, value in (("last_preview", shown.preview), ("preview_expires_at", shown.expires_at_s)):
            if value is None:
                self.removes.append(name)
            else:
                self.sets[name] = value
        self.conditions.append(
            "(attribute_not_exists(#preview_sequence) OR #preview_sequence < :preview_sequence"
            " OR (#preview_sequence = :preview_sequence AND #preview_version < :preview_version))"
        )

    def writing(self, condition: str) -> Writing:
        names = [*self.sets, *self.removes]
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in self.sets)
        if self.removes:
            update += " REMOVE " + ", ".join(f"#{name}" for name in self.removes)
        values = {f":{name}": value for name, value in self.sets.items()}
        return Writing(update, condition, {f"#{name}": name for name in names}, values)


def all_at_once(news: News, names: HeadNames) -> Writing:
    """Everything, if the head is news and so is what is shown: then all the rest is (see `rules.py`)."""
    parts = _parts(news, names)
    return parts.writing(" AND ".join(parts.conditions[: 2 if news.shown else 1]))


def part_by_part(news: News, names: HeadNames) -> Writing:
    """Everything, if each part is news."""
    parts = _parts(news, names)
    return parts.writing(" AND ".join(parts.conditions))


def _parts(news: News, names: HeadNames) -> _Parts:
    parts = _Parts()
    if news.head is not None:
        parts.below(names.sequence, **dict(zip(names, news.head, strict=True)))
    if news.shown is not None:
        parts.shown(news.shown)
    if news.own is not None:
        parts.below("own_sequence", own_sequence=news.own.sequence, own_ordinal=news.own.ordinal)
    if news.joined is not None:
        at, ordinal, at_ms = news.joined
        parts.below("joined_sequence", joined_sequence=at, joined_ordinal=ordinal, joined_at=at_ms)
    if news.removed is not None:
        parts.below("removed_sequence", removed_sequence=news.removed)
    if news.is_large:
        parts.sets["large"] = True
        parts.conditions.append("attribute_not_exists(#large)")
    if news.other is not None:
        parts.sets["other"] = news.other
        parts.conditions.append("attribute_not_exists(#other)")
    return parts
