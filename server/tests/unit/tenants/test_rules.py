"""Names of keys, contexts of wrapping, and rotation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.ids import TenantId
from tidings.schema.tables.items.accounts import DATA_KEY
from tidings.tenants.model import MAX_VERSION, KeyKind, KeyName, WrappedKey
from tidings.tenants.rules import is_due, wrap_context

names = st.builds(KeyName, st.sampled_from(KeyKind), st.integers(1, MAX_VERSION))


@given(names)
def test_a_name_is_read_back_and_fits_its_key(name: KeyName) -> None:
    assert KeyName.parse(str(name)) == name
    assert DATA_KEY.sort is not None
    assert DATA_KEY.sort.render(key=str(name)) == f"data_key#{name}"  # type: ignore[union-attr] # a template


@given(names, names)
def test_names_sort_as_their_versions_do(one: KeyName, other: KeyName) -> None:
    assert (str(one) < str(other)) == (one < other)


@pytest.mark.parametrize(
    "text",
    ["", "content", "content-", "content-x", "content-0", "content--1", "search-1", f"content-{2**32}"],
)
def test_an_unknown_key_name_is_not_parsed(text: str) -> None:
    assert KeyName.parse(text) is None


@given(names, names, st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]))
def test_a_key_is_wrapped_for_one_tenant_and_one_name(
    one: KeyName, other: KeyName, tenant: str, other_tenant: str
) -> None:
    mine, theirs = wrap_context(TenantId(tenant), one), wrap_context(TenantId(other_tenant), other)
    assert (mine == theirs) is ((tenant, one) == (other_tenant, other))


@pytest.mark.parametrize(
    ("age_s", "due"), [(0, False), (59.999, False), (60, True), (10**9, True), (-(10**6), False)]
)
def test_a_key_is_due_by_age(age_s: float, *, due: bool) -> None:
    key = WrappedKey(KeyName(KeyKind.CONTENT, 1), b"", "", 10**12)
    assert is_due(key, 10**12 + round(age_s * 1000), 60) is due
