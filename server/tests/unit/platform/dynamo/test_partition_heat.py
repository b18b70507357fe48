"""The load of the most used partition."""

from collections.abc import Callable

import pytest

from tidings.platform.dynamo.partition_heat import SAMPLED, WINDOW_S, PartitionHeat, selected_partition
from tidings.schema.tables.declaration import PARTITION_KEYS


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def watching(now: Callable[[], float], chance: Callable[[], float]) -> PartitionHeat:
    heat = PartitionHeat(now, chance)
    heat.watch({"messages": "chat_id", "chats": "chat_id", "tenants": "tenant"})
    return heat


def test_each_window_adds_the_units_of_its_most_used_partition() -> None:
    clock = Clock()
    heat = watching(clock, lambda: 0.0)
    for partition, units in (("a", 2), ("b", 1), ("a", 3), ("b", 1)):
        heat.add("messages", "write", {"chat_id": partition, "sequence": 7}, units)
    heat.add_query(
        "messages", "#s = :low AND chat_id = :chat", {"#s": "sequence"}, {":low": 1, ":chat": "b"}, 0.5
    )
    assert heat.totals() == {}
    clock.now_s = WINDOW_S
    heat.add("messages", "write", {"chat_id": "b"}, 4)
    assert heat.totals() == {("messages", "write"): 5 * SAMPLED, ("messages", "read"): 0.5 * SAMPLED}
    clock.now_s = 2 * WINDOW_S
    heat.add("chats", "write", {"chat_id": "a"}, 1)
    assert heat.totals()["messages", "write"] == (5 + 4) * SAMPLED


def test_calls_are_sampled_and_the_number_of_partitions_is_bounded() -> None:
    clock, chances = Clock(), iter([0.9, 0.99 / SAMPLED])
    heat = watching(clock, lambda: next(chances, 0.0))
    heat.add("messages", "write", {"chat_id": "skipped"}, 1_000_000)
    for number in range(5_000):
        heat.add("messages", "write", {"chat_id": str(number)}, 1 if number < 4_999 else 1_000_000)
    clock.now_s = WINDOW_S
    heat.add("messages", "write", {"chat_id": "next"}, 1)
    assert heat.totals() == {("messages", "write"): SAMPLED}


def test_the_partition_key_counts_wherever_it_is_in_an_item() -> None:
    clock = Clock()
    heat = watching(clock, lambda: 0.0)
    heat.add("tenants", "write", {"scopes": ["users"], "tenant": "acme"}, 1)
    heat.add("tenants", "write", {"tenant": "acme"}, 1)
    clock.now_s = WINDOW_S
    heat.add("tenants", "write", {"tenant": "acme"}, 1)
    assert heat.totals() == {("tenants", "write"): 2 * SAMPLED}


def test_nothing_is_counted_without_the_names_of_keys() -> None:
    clock = Clock()
    heat = PartitionHeat(clock, lambda: 0.0)
    heat.add("tenants", "write", {"tenant": "acme"}, 1)
    clock.now_s = WINDOW_S
    heat.add("tenants", "write", {"tenant": "acme"}, 1)
    assert heat.totals() == {}


@pytest.mark.parametrize(
    ("condition", "names", "placeholder"),
    [
        ("user_id = :u AND begins_with(chat_id, :t)", {}, ":u"),
        ("#s = :n AND #p=:p", {"#p": "user_id", "#s": "chat_id"}, ":p"),
        ("chat_id = :c", {}, ""),
    ],
)
def test_the_condition_of_a_query_selects_the_partition(
    condition: str, names: dict[str, str], placeholder: str
) -> None:
    assert selected_partition(condition, names, "user_id") == placeholder


def test_the_names_of_keys_come_from_the_declaration() -> None:
    assert PARTITION_KEYS["delivery_state"] == "user_id"
    assert PARTITION_KEYS["messages"] == "chat_id"
