"""The load of the most used partition."""

from tidings.platform.dynamo.partition_heat import SAMPLED, WINDOW_S, PartitionHeat


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_each_window_adds_the_units_of_its_most_used_partition() -> None:
    clock = Clock()
    heat = PartitionHeat(clock, lambda: 0.0)
    for partition, units in (("a", 2), ("b", 1), ("a", 3), ("b", 1)):
        heat.add("messages", "write", {"chat_id": partition, "sequence": 7}, units)
    heat.add("messages", "read", {":chat": "b"}, 0.5)
    assert heat.totals() == {}
    clock.now_s = WINDOW_S
    heat.add("messages", "write", {"chat_id": "b"}, 4)
    assert heat.totals() == {("messages", "write"): 5 * SAMPLED, ("messages", "read"): 0.5 * SAMPLED}
    clock.now_s = 2 * WINDOW_S
    heat.add("chats", "write", {"chat_id": "a"}, 1)
    assert heat.totals()["messages", "write"] == (5 + 4) * SAMPLED


def test_calls_are_sampled_and_the_number_of_partitions_is_bounded() -> None:
    clock, chances = Clock(), iter([0.9, 0.99 / SAMPLED])
    heat = PartitionHeat(clock, lambda: next(chances, 0.0))
    heat.add("messages", "write", {"chat_id": "skipped"}, 1_000_000)
    for number in range(5_000):
        heat.add("messages", "write", {"chat_id": str(number)}, 1 if number < 4_999 else 1_000_000)
    clock.now_s = WINDOW_S
    heat.add("messages", "write", {"chat_id": "next"}, 1)
    assert heat.totals() == {("messages", "write"): SAMPLED}


def test_an_item_that_begins_with_another_attribute_is_counted_too() -> None:
    clock = Clock()
    heat = PartitionHeat(clock, lambda: 0.0)
    heat.add("tenants", "write", {"scopes": ["users"], "tenant": "acme"}, 1)
    clock.now_s = WINDOW_S
    heat.add("tenants", "write", {"tenant": "acme"}, 1)
    assert heat.totals() == {("tenants", "write"): SAMPLED}
