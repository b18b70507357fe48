"""Item collections: what shares a partition key, and how large it can become."""

from collections.abc import Iterator
from dataclasses import dataclass

from tidings.tables.model import Growth, Item, Table, largest_item_bytes


@dataclass(frozen=True, slots=True)
class Collection:
    """The items under one value of a partition key, of a table or an index.

    `max_bytes` is the size when every kind is as numerous and as large as declared; None: there is no bound, and
    `measured_by` names the metrics that measure it.
    """

    name: str
    max_bytes: int | None
    measured_by: frozenset[str]


def collections(table: Table) -> Iterator[Collection]:
    """Every item of the table in one collection, and once more in that of each index."""
    by_key: dict[str, list[tuple[Item, Growth]]] = {}
    for item in table.items:
        by_key.setdefault(item.partition.text, []).append((item, item.growth))
    for text, kinds in by_key.items():
        yield _collection(table, f"{table.name} {text}", kinds)
    for index in table.indexes:
        shown = [item for item in table.items if index.partition.name in _names(table, item)]
        yield _collection(
            table, f"{index.name} {index.template.text}", [(item, index.growth) for item in shown]
        )


def _collection(table: Table, name: str, kinds: list[tuple[Item, Growth]]) -> Collection:
    unbounded = frozenset(growth.measured_by for _, growth in kinds if growth.most is None)
    size = sum(largest_item_bytes(table, item) * (growth.most or 0) for item, growth in kinds)
    return Collection(name, None if unbounded else size, unbounded)


def _names(table: Table, item: Item) -> set[str]:
    return {key.name for key in table.keys} | set(item.attributes)
