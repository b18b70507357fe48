"""Values for limits: the largest one, and any allowed one."""

from typing import Any

from fixtures.encoded_sizes import Value
from hypothesis import strategies as st

from tidings.schema.tables.limits import (
    PART_BYTES,
    PART_DIGITS,
    AttributeLimit,
    BlobLimit,
    FlagLimit,
    ListLimit,
    MapLimit,
    NumberLimit,
    SetLimit,
    TextLimit,
)
from tidings.schema.tables.model import RESERVED, KeyTemplate, Table, TableItem

type Wire = dict[str, Value]


def largest_value(bound: AttributeLimit, which: int = 0) -> dict[str, Any]:  # noqa: PLR0911 - a case for each kind of bound
    """Return the largest value. Another `which` gives another one, for sets."""
    match bound:
        case TextLimit(size):
            return {"S": f"{which:x>{size}}"}
        case BlobLimit(size):
            return {"B": b"x" * size}
        case NumberLimit(digits):
            return {"N": str(10**digits - 1 - 2 * which)}  # odd, so no zeros at the end to be trimmed
        case FlagLimit():
            return {"BOOL": True}
        case SetLimit(count, of):
            values = [largest_value(of, each) for each in range(count)]
            kind = next(iter(values[0]))
            return {f"{kind}S": [value[kind] for value in values]}
        case ListLimit(count, of):
            return {"L": [largest_value(of) for _ in range(count)]}
        case MapLimit(count, name_bytes, of):
            return {"M": {f"{each:x>{name_bytes}}": largest_value(of) for each in range(count)}}


def largest_item(table: Table, item: TableItem) -> Wire:
    wire: Wire = {table.partition.name: {"S": _largest_key(item.partition)}}
    if table.sort and item.sort:
        is_number = isinstance(item.sort, NumberLimit)
        wire[table.sort.name] = (
            largest_value(item.sort) if isinstance(item.sort, NumberLimit) else {"S": _largest_key(item.sort)}
        )
        assert is_number == (table.sort.type == "N")
    return wire | {name: largest_value(bound) for name, bound in item.attributes.items()}


def _largest_key(template: KeyTemplate) -> str:
    return template.render(**template.largest_parts())


def any_value(bound: AttributeLimit) -> st.SearchStrategy[dict[str, Any]]:  # noqa: PLR0911 - a case for each kind of bound
    match bound:
        case TextLimit(size):
            return _any_text(size).map(lambda text: {"S": text})
        case BlobLimit(size):
            return st.integers(0, size).map(lambda length: {"B": b"\0" * length})
        case NumberLimit(digits):
            return st.integers(0, 10**digits - 1).map(lambda number: {"N": str(number)})
        case FlagLimit():
            return st.booleans().map(lambda flag: {"BOOL": flag})
        case SetLimit(count, NumberLimit(digits)):
            numbers = st.integers(0, 10**digits - 1).map(str)
            return st.sets(numbers, min_size=1, max_size=min(count, 5)).map(lambda some: {"NS": sorted(some)})
        case SetLimit(count, TextLimit(size)):
            return st.sets(_any_text(size), min_size=1, max_size=min(count, 5)).map(
                lambda some: {"SS": sorted(some)}
            )
        case ListLimit(count, of):
            return st.lists(any_value(of), max_size=min(count, 5)).map(lambda some: {"L": some})
        case MapLimit(count, name_bytes, of):
            names = _any_text(name_bytes)
            return st.dictionaries(names, any_value(of), max_size=min(count, 5)).map(lambda some: {"M": some})
    raise AssertionError(bound)


def _any_text(max_bytes: int) -> st.SearchStrategy[str]:
    """Return texts of any length up to the limit, in characters of one to four bytes."""

    def spell(length: int, character: str) -> str:
        return character * (length // len(character.encode()))

    return st.builds(spell, st.integers(0, max_bytes), st.sampled_from("aé€😀"))


@st.composite
def any_item(draw: st.DrawFn, table: Table, item: TableItem) -> Wire:
    """Return some of the attributes, each within its limit."""
    wire: Wire = {table.partition.name: {"S": draw(any_key(item.partition))}}
    if table.sort and isinstance(item.sort, KeyTemplate):
        wire[table.sort.name] = {"S": draw(any_key(item.sort))}
    if table.sort and isinstance(item.sort, NumberLimit):
        wire[table.sort.name] = draw(any_value(item.sort))
    chosen = draw(st.sets(st.sampled_from(sorted(item.attributes)))) if item.attributes else set[str]()
    return wire | {name: draw(any_value(item.attributes[name])) for name in sorted(chosen)}


def any_key(template: KeyTemplate) -> st.SearchStrategy[str]:
    return any_parts(template).map(lambda parts: template.render(**parts))


def any_parts(template: KeyTemplate) -> st.SearchStrategy[dict[str, str | int]]:
    return st.fixed_dictionaries({name: any_part(name) for name in template.parts})


def any_part(name: str) -> st.SearchStrategy[str] | st.SearchStrategy[int]:
    if name in PART_DIGITS:
        return st.integers(0, 10 ** PART_DIGITS[name] - 1)
    # Includes the letters that follow the tenant in the inbox's keys, to find ambiguous keys.
    text = st.text("aBMKDUJQ_t-", min_size=1, max_size=min(5, PART_BYTES[name]))
    return text.map(lambda part: f"a{part}" if name == "tenant" and part.startswith(RESERVED) else part)
