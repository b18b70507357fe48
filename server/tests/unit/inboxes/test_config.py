"""Inbox configurations: permanent codes, versions of schemas, invalid values."""

import pytest
from msgspec.structs import replace

from tidings.inboxes.config import MAX_CATEGORIES, InboxSpec, apply_spec, check_inbox_id, spec_of
from tidings.inboxes.model import InboxId
from tidings.kernel.errors import Code, TidingsError

NEWS, NAME = InboxSpec(title="News", categories=("sport", "weather")), InboxId("default")


def test_a_category_keeps_its_code_permanently() -> None:
    first = apply_spec(NAME, None, NEWS, 1)
    second = apply_spec(NAME, first, replace(NEWS, categories=("weather", "traffic")), 2)
    assert dict(second.codes) == {"sport": 1, "weather": 2, "traffic": 3}
    assert second.categories == ["weather", "traffic"]
    third = apply_spec(NAME, second, replace(NEWS, categories=("sport",)), 3)
    assert (third.code_to_send("sport"), sorted(third.retired)) == (1, [2, 3])


def test_only_a_schema_that_changes_gets_another_version() -> None:
    plain = apply_spec(NAME, None, NEWS, 1)
    with_one = apply_spec(NAME, plain, replace(NEWS, schema={"type": "object"}), 2)
    same = apply_spec(NAME, with_one, replace(NEWS, schema={"type": "object"}, title="The news"), 3)
    assert [each.schema_version for each in (plain, with_one, same)] == [0, 1, 1]
    assert [each.version for each in (plain, with_one, same)] == [1, 2, 3]


def test_an_inbox_described_without_changes_is_unchanged() -> None:
    inbox = apply_spec(NAME, None, replace(NEWS, retention_days=3, default_category="sport"), 1)
    again = apply_spec(NAME, inbox, spec_of(inbox), 1)
    assert replace(again, version=1) == inbox


@pytest.mark.parametrize(
    "wanted",
    [
        replace(NEWS, title=""),
        replace(NEWS, categories=("a#b",)),
        replace(NEWS, default_category="cooking"),
        replace(NEWS, retention_days=0),
        replace(NEWS, schema={"type": "nonsense"}),
        replace(NEWS, schema={"$ref": "https://example.com/schema.json"}),
        replace(NEWS, schema={"pattern": "(?=a)b"}),
        replace(NEWS, schema={"description": "x" * 40_000}),
        replace(NEWS, categories=tuple(f"c{number}" for number in range(MAX_CATEGORIES + 1))),
    ],
)
def test_an_invalid_spec_is_refused(wanted: InboxSpec) -> None:
    with pytest.raises(TidingsError) as refused:
        apply_spec(NAME, None, wanted, 1)
    assert refused.value.code is Code.REQUEST_INVALID


@pytest.mark.parametrize("name", ["", "a#b", "-a", "a" * 33, "a b", "ä"])
def test_a_name_that_is_invalid_in_keys_is_rejected(name: str) -> None:
    with pytest.raises(TidingsError):
        check_inbox_id(name)
