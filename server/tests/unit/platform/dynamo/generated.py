"""Items of every kind that DynamoDB holds, for hypothesis."""

from decimal import Decimal

from hypothesis import strategies as st

from tidings.platform.dynamo.codec import ItemValue

# Lone surrogates are not Unicode text; DynamoDB refuses them.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
whole_numbers = st.integers(-(10**38) + 1, 10**38 - 1)
broken_numbers = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent), whole_numbers, st.integers(-60, 60)
)
numbers = whole_numbers | broken_numbers
blobs = st.binary(max_size=40)
scalars = texts | numbers | blobs | st.booleans() | st.none()
sets = (
    st.frozensets(texts, min_size=1, max_size=5)
    | st.frozensets(numbers, min_size=1, max_size=5)
    | st.frozensets(blobs, min_size=1, max_size=5)
)
values: st.SearchStrategy[ItemValue] = st.recursive(
    scalars | sets,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
items = st.dictionaries(names, values, max_size=8)
