"""Ordinals of entries that went through: many chats with few entries, few chats with many, bounded in all."""

from types import SimpleNamespace
from typing import Any

from tidings.gateway.ack_buffer import OrdinalCache
from tidings.kernel.ids import ChatId, ChatKey, TenantId


def chat(number: int) -> ChatKey:
    return ChatKey(TenantId("acme"), ChatId(f"c{number}"))


def entries(*sequences: int) -> Any:
    return [SimpleNamespace(sequence=sequence, ordinal=sequence) for sequence in sequences]


def test_an_entry_in_each_of_many_chats_is_known_until_its_ack() -> None:
    ordinals = OrdinalCache()
    for number in range(50_000):
        ordinals.note(chat(number), entries(7))
    assert all(ordinals.of(chat(number), 7) for number in range(50_000))


def test_cached_ordinals_are_bounded_for_each_chat_and_in_total() -> None:
    ordinals = OrdinalCache(entries=10, of_a_chat=4)
    for number in range(5):
        ordinals.note(chat(number), entries(*range(1, 7)))
        ordinals.note(chat(number), entries(6))
    assert [len(known) for known in ordinals._chats.values()] == [4, 4]
    assert ordinals._entries == 8
    assert ordinals.of(chat(4), 6) is not None
    assert ordinals.of(chat(4), 1) is None
