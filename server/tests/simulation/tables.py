"""DynamoDB tables in memory: keys, conditions, atomic transactions, pages."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from simulation.expressions import Given, condition, update

from tidings.platform.dynamo.codec import Attributes, Item
from tidings.platform.dynamo.errors import CancellationReason, ConditionFailedError, TransactionCancelledError
from tidings.platform.dynamo.requests import Check, Delete, Put, Query, QueryPage, TransactAction, Update
from tidings.schema.tables.declaration import TABLES

_PARTITION = re.compile(r"^\s*([#\w]+) = (:\w+)")
_NO_SORT = ""


type Names = Mapping[str, str]
type Stored = Callable[[str, Item | None, Item], None]


class Rows:
    """One table: partitions, and in each the items by their sort key."""

    def __init__(self, partition: str, sort: str | None) -> None:
        self._names = (partition, sort)
        self.partitions: dict[str, dict[Any, Item]] = {}

    def place(self, item: Attributes) -> tuple[str, Any]:
        partition, sort = self._names
        return str(item[partition]), _NO_SORT if sort is None else item[sort]

    def keys_of(self, item: Item) -> Item:
        return {name: item[name] for name in self._names if name is not None}

    def get(self, key: Attributes) -> Item | None:
        partition, sort = self.place(key)
        return self.partitions.get(partition, {}).get(sort)

    def store(self, item: Item) -> None:
        partition, sort = self.place(item)
        self.partitions.setdefault(partition, {})[sort] = item

    def drop(self, key: Attributes) -> None:
        partition, sort = self.place(key)
        self.partitions.get(partition, {}).pop(sort, None)

    def sorted(self, partition: str) -> list[tuple[Any, Item]]:
        return sorted(self.partitions.get(partition, {}).items())


class Tables:
    """All tables. `stored` is called for each write with the previous item, if any, and the new one."""

    def __init__(self) -> None:
        self.rows = {t.name: Rows(t.partition.name, t.sort.name if t.sort else None) for t in TABLES}
        self.stored: Stored = lambda *_: None

    def get(self, table: str, key: Attributes, projection: str | None, names: Names) -> Item | None:
        found = self.rows[table].get(key)
        return None if found is None else _shown(found, projection, names)

    def query(self, table: str, query: Query, most: int | None) -> QueryPage[Item]:
        """Run a query. `most` is the size at which the engine ends a page early."""
        names, rows = query.names or {}, self.rows[table]
        match = _PARTITION.match(query.condition)
        assert match is not None, query.condition
        in_range = condition(query.condition)
        items = [
            item
            for _, item in rows.sorted(str(query.values[match[2]]))
            if in_range(Given(item, names, query.values))
        ]
        if query.backward:
            items.reverse()
        if query.start is not None:
            after = rows.place(query.start)[1]
            items = [
                i for i in items if (rows.place(i)[1] < after if query.backward else rows.place(i)[1] > after)
            ]
        bound = min(query.limit or len(items) + 1, most or len(items) + 1)
        page, is_cut = items[:bound], bound <= len(items)
        shown = [
            i for i in page if query.filter is None or condition(query.filter)(Given(i, names, query.values))
        ]
        return QueryPage(
            [_shown(item, query.projection, names) for item in shown],
            rows.keys_of(page[-1]) if is_cut else None,
            len(page),
        )

    def write(self, action: TransactAction, returns: str | None = None) -> Item | None:
        stored = self._stored(action)
        if not _holds(action, stored):
            raise ConditionFailedError("the condition failed", item=None if stored is None else _copy(stored))
        after = self._apply(action, stored)
        if returns == "ALL_NEW":
            return None if after is None else _copy(after)
        if stored is None or returns is None:
            return None
        return _copy(stored)

    def transact(self, actions: Sequence[TransactAction]) -> None:
        stored = [self._stored(action) for action in actions]
        places = [(a.table, self.rows[a.table].place(_key(a))) for a in actions]
        assert len(set(places)) == len(places), "a transaction contains an item twice"
        reasons = tuple(
            CancellationReason()
            if _holds(a, item)
            else CancellationReason("ConditionalCheckFailed", item=item and _copy(item))
            for a, item in zip(actions, stored, strict=True)
        )
        if any(not reason.is_blameless for reason in reasons):
            raise TransactionCancelledError("cancelled", reasons=reasons)
        for action, item in zip(actions, stored, strict=True):
            self._apply(action, item)

    def _stored(self, action: TransactAction) -> Item | None:
        return self.rows[action.table].get(_key(action))

    def _apply(self, action: TransactAction, stored: Item | None) -> Item | None:
        rows = self.rows[action.table]
        match action:
            case Put(item=new):
                item = _copy(new)
            case Update(key=key, update=text):
                item = _copy(stored if stored is not None else key)
                given = Given(stored or {}, action.names or {}, _copy(action.values or {}))
                for change in update(text):
                    change(given, item)
            case Delete(key=key):
                rows.drop(key)
                return None
            case _:
                return stored
        rows.store(item)
        self.stored(action.table, stored, item)
        return item


def _key(action: TransactAction) -> Attributes:
    match action:
        case Put(item=item):
            return item
        case Update(key=key) | Delete(key=key) | Check(key=key):
            return key
        case _:
            raise TypeError(f"not an action: {action!r}")


def _holds(action: TransactAction, stored: Item | None) -> bool:
    if action.condition is None:
        return True
    return condition(action.condition)(Given(stored or {}, action.names or {}, action.values or {}))


def _shown(item: Item, projection: str | None, names: Names) -> Item:
    if projection is None:
        return _copy(item)
    wanted: Iterable[str] = (names.get(word, word) for word in map(str.strip, projection.split(",")))
    return {name: _value(item[name]) for name in wanted if name in item}


def _copy(item: Mapping[str, Any]) -> Item:
    return {name: _value(value) for name, value in item.items()}


def _value(value: Any) -> Any:
    """Copy a value so that it is never shared, and reject values that DynamoDB cannot store."""
    match value:
        case list() | tuple():
            return [_value(each) for each in value]
        case dict():
            return {name: _value(each) for name, each in value.items()}
        case set() | frozenset():
            assert value, "DynamoDB cannot store an empty set"
            return set(value)
        case str() | bytes() | bool() | int() | Decimal() | None:
            return value
        case _:
            raise TypeError(f"{value!r} cannot be stored")
