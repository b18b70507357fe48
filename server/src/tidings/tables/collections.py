"""Item collections: what shares a partition key, and how large it can become."""

from collections.abc import Iterator
from dataclasses import dataclass

from tidings.tables.model import Growth, Table, TableItem, largest_item_bytes


@dataclass(frozen=True, slots=True)
class ItemCollection:
    """The items under one value of a partition key, of a table or an index.

    `max_bytes` is the size when every kind is as numerous and as large as declared; None: there is no bound, and
    `measured_by` names the metrics that measure it.
    """

    name: str
    max_bytes: int | None
    measured_by: frozenset[str]


def item_collections(table: Table) -> Iterator[ItemCollection]:
    """Every item of the table in one collection, and once more in that of each index."""
    by_key: dict[str, list[tuple[TableItem, Growth]]] = {}
    for item in table.items:
        by_key.setdefault(item.partition.text, []).append((item, item.growth))
    for text, kinds in by_key.items():
        yield _item_collection(table, f"{table.name} {text}", kinds)
    for index in table.indexes:
        shown = [item for item in table.items if index.partition.name in _attribute_names(table, item)]
        yield _item_collection(
            table, f"{index.name} {index.template.text}", [(item, index.growth) for item in shown]
        )


def _item_collection(table: Table, name: str, kinds: list[tuple[TableItem, Growth]]) -> ItemCollection:
    unbounded = frozenset(growth.measured_by for _, growth in kinds if growth.most is None)
    size = sum(largest_item_bytes(table, item) * (growth.most or 0) for item, growth in kinds)
    return ItemCollection(name, None if unbounded else size, unbounded)


def _attribute_names(table: Table, item: TableItem) -> set[str]:
    return {key.name for key in table.keys} | set(item.attributes)
