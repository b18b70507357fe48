"""A row is decoded equally from a single read and from a list."""

from hypothesis import given
from hypothesis import strategies as st

from tidings.delivery.store.items import ROW_ITEM, RowItem, row_from_bytes, row_from_item
from tidings.platform.dynamo.codec import Item

numbers = st.integers(0, 10**15)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


type Part = dict[str, st.SearchStrategy[object]]

PARTS: list[Part] = [
    {"last_sequence": numbers, "last_ordinal": numbers},
    {"preview_sequence": numbers, "preview_version": numbers, "last_at": numbers, "last_sender": texts},
    {"own_sequence": numbers, "own_ordinal": numbers},
    {"joined_sequence": numbers, "joined_ordinal": numbers, "joined_at": numbers},
    {"last_acked_sequence": numbers, "last_acked_ordinal": numbers},
    {"last_read_sequence": numbers, "read_ordinal": numbers},
    {"read_at": numbers},
    {"removed_sequence": numbers},
    {"quiet_at": numbers},
    {"epoch": numbers},
    {"preview_expires_at": numbers},
    {"muted_until": numbers},
    {"large": st.booleans()},
    {"pinned": st.booleans()},
    {"archived": st.booleans()},
    {"notify": st.sampled_from("amn")},
    {"other": texts},
    {"last_preview": st.binary(max_size=40)},
]
"""Each is written whole or not at all."""


@st.composite
def items(draw: st.DrawFn) -> Item:
    item: Item = {"user_id": "acme#ann", "chat_id": f"acme#{draw(texts)}", "not_read_here": draw(texts)}
    for part in PARTS:
        item |= draw(st.fixed_dictionaries(part) | st.just({}))
    return item


@given(items())
def test_both_ways_of_reading_an_item_give_the_same_row(item: Item) -> None:
    assert row_from_bytes(ROW_ITEM.of(item)) == row_from_item(item)


def test_every_attribute_that_is_read_is_drawn() -> None:
    drawn = {name for part in PARTS for name in part}
    assert drawn == set(RowItem.__struct_fields__) - {"chat_id"}
