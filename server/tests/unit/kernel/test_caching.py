import asyncio
from dataclasses import dataclass, field

import pytest
from fixtures.loops import until
from fixtures.memory_keys import AdjustableClock

from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.errors import Code, TidingsError

KEEP = CachePolicy(fresh_s=30, outage_s=300, retry_s=5, count=3, absent_count=2)


@dataclass
class Source:
    rows: dict[str, str] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    fails_with: TidingsError | None = None
    gate: asyncio.Event | None = None
    clock: AdjustableClock = field(default_factory=AdjustableClock)

    async def load(self, key: str) -> str | None:
        self.loads.append(key)
        found = self.rows.get(key)
        if self.gate is not None:
            await self.gate.wait()
        if self.fails_with:
            raise self.fails_with
        return found

    def cache(self, keep: CachePolicy = KEEP) -> Cache[str, str]:
        return Cache(self.load, self.clock, keep)


@pytest.fixture
def source() -> Source:
    return Source({name: name.upper() for name in "abcdef"})


async def test_a_value_is_loaded_once_and_again_when_it_is_stale(source: Source) -> None:
    cache = source.cache()
    assert [await cache.get("a"), await cache.get("a")] == ["A", "A"]
    source.rows["a"] = "changed"
    source.clock.now_s += 29.9
    assert await cache.get("a") == "A"
    source.clock.now_s += 0.1
    assert await cache.get("a") == "changed"
    assert source.loads == ["a", "a"]


async def test_age_counts_from_before_the_load(source: Source) -> None:
    cache = source.cache()
    source.gate = asyncio.Event()
    slow = asyncio.create_task(cache.get("a"))
    await until(lambda: source.loads)
    source.rows["a"] = "changed"
    source.clock.now_s += 30
    source.gate.set()
    assert await slow == "A"
    assert await cache.get("a") == "changed"


async def test_an_absent_value_is_not_loaded_each_time(source: Source) -> None:
    cache = source.cache()
    for _ in range(5):
        assert await cache.get("nobody") is None
    assert source.loads == ["nobody"]
    source.rows["nobody"] = "came"
    source.clock.now_s += 30
    assert await cache.get("nobody") == "came"


async def test_concurrent_calls_share_one_load(source: Source) -> None:
    cache = source.cache()
    assert await asyncio.gather(*(cache.get("a") for _ in range(50))) == ["A"] * 50
    assert source.loads == ["a"]


async def test_the_cache_is_bounded_and_evicts_the_least_recently_used(source: Source) -> None:
    cache = source.cache()
    for key in "abcad":  # b is the one that was not used for longest
        await cache.get(key)
    source.loads.clear()
    for key in "acd":
        await cache.get(key)
    assert source.loads == []
    await cache.get("b")
    assert source.loads == ["b"]


async def test_absent_names_evict_no_present_values(source: Source) -> None:
    cache = source.cache()
    await cache.get("a")
    for n in range(100):
        await cache.get(f"nobody{n}")
    source.loads.clear()
    assert await cache.get("a") == "A"
    assert source.loads == []
    assert len(cache._absent) == 2


async def test_while_the_source_fails_the_last_value_is_used_within_its_bound(source: Source) -> None:
    cache = source.cache()
    await cache.get("a")
    source.fails_with = TidingsError(Code.OVERLOADED, "no")
    source.clock.now_s += 31
    assert await cache.get("a") == "A"
    assert await cache.get("a") == "A"
    assert len(source.loads) == 2, "the second one waited for its time to try again"
    source.clock.now_s += 268
    assert await cache.get("a") == "A"
    source.clock.now_s += 2
    with pytest.raises(TidingsError):
        await cache.get("a")


async def test_a_permanent_error_is_not_hidden_by_the_cache(source: Source) -> None:
    cache = source.cache()
    await cache.get("a")
    source.fails_with = TidingsError(Code.INTERNAL, "no")
    source.clock.now_s += 31
    with pytest.raises(TidingsError):
        await cache.get("a")


async def test_an_invalidated_value_is_loaded_again(source: Source) -> None:
    cache = source.cache()
    await cache.get("a")
    await cache.get("nobody")
    source.rows |= {"a": "changed", "nobody": "came"}
    cache.evict("a")
    cache.evict("nobody")
    assert [await cache.get("a"), await cache.get("nobody")] == ["changed", "came"]


async def test_a_load_that_began_before_an_eviction_is_neither_stored_nor_joined(source: Source) -> None:
    cache = source.cache()
    source.gate = asyncio.Event()
    early = asyncio.create_task(cache.get("a"))
    await until(lambda: source.loads)
    source.rows["a"] = "changed"
    cache.evict("a")
    late = asyncio.create_task(cache.get("a"))
    await until(lambda: len(source.loads) == 2)
    source.gate.set()
    assert [await early, await late] == ["A", "changed"]
    assert await cache.get("a") == "changed"
    assert source.loads == ["a", "a"]
