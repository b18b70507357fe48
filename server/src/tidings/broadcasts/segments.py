"""A tenant's segments: predicates over attributes, or lists in versions. Read through a cache by who delivers.

A change holds everywhere within `CACHE_POLICY.fresh_s`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tidings.broadcasts.model import Profile, Segment
from tidings.broadcasts.ports import ProfileStore, SegmentStore
from tidings.broadcasts.predicate import Predicate, compile_predicate
from tidings.kernel.caching import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.tries import retry_on_conflict

CACHE_POLICY = CachePolicy(fresh_s=5.0, outage_s=600.0)
MAX_LISTED = 10_000
"""Users of one call; a long list comes in several, then one that makes its version the active one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SegmentMembership(NamedTuple):
    segment: Segment
    contains: Callable[[Profile], bool]


class SegmentService:
    def __init__(self, store: SegmentStore, profiles: ProfileStore, clock: Clock) -> None:
        self._store = store
        self._profiles = profiles
        self._clock = clock
        self._cache: Cache[tuple[TenantId, str], SegmentMembership] = Cache(self._load, clock, CACHE_POLICY)

    async def of(self, tenant: TenantId, name: str) -> SegmentMembership:
        found = await self._cache.get((tenant, check_segment_name(name)))
        if found is None:
            raise _unknown(name)
        return found

    async def check(self, tenant: TenantId, name: str, /) -> None:
        await self.of(tenant, name)

    async def holding(self, tenant: TenantId, names: Iterable[str], profile: Profile) -> list[str]:
        """Those that the user is in. None is ever taken away, so each is there."""
        return [name for name in names if (await self.of(tenant, name)).contains(profile)]

    async def listed(self, tenant: TenantId) -> Sequence[Segment]:
        return await self._store.listed(tenant)

    async def read(self, tenant: TenantId, name: str) -> Segment:
        found = await self._store.read(tenant, check_segment_name(name))
        if found is None:
            raise _unknown(name)
        return found

    async def set_predicate(self, tenant: TenantId, name: str, predicate: Mapping[str, Any]) -> Segment:
        compile_predicate(predicate)
        return await self._changed(tenant, name, lambda _: Segment(name=name, predicate=predicate))

    async def upload(
        self, tenant: TenantId, name: str, users: Sequence[UserId], version: int | None
    ) -> Segment:
        """Into a version that is yet to be active: `version`, or the next one. Says which in `newest`."""
        if not 0 < len(users) <= MAX_LISTED:
            raise TidingsError(Code.REQUEST_INVALID, f"1 to {MAX_LISTED} users come with one call.")

        def opened(before: Segment | None) -> Segment | None:
            if before is not None and version == before.newest > before.active:
                return None
            if version is not None:
                raise TidingsError(Code.REQUEST_INVALID, f"Version {version} of the list is not open.")
            newest = 1 if before is None else before.newest + 1
            return Segment(name=name, is_list=True, active=before.active if before else 0, newest=newest)

        segment = await self._changed(tenant, name, opened)
        await self._profiles.enlist(tenant, users, name, segment.newest, self._clock.now_ms())
        return segment

    async def activate(self, tenant: TenantId, name: str, version: int) -> Segment:
        """From now on this version of the list says who is in. The one before it still can be taken again."""

        def turned(before: Segment | None) -> Segment | None:
            if before is None or not before.is_list:
                raise _unknown(name)
            if version not in (before.newest, before.newest - 1) or version == 0:
                raise TidingsError(Code.REQUEST_INVALID, f"Version {version} of the list is not kept.")
            return None if version == before.active else replace(before, active=version)

        return await self._changed(tenant, name, turned)

    async def _changed(
        self, tenant: TenantId, name: str, change: Callable[[Segment | None], Segment | None]
    ) -> Segment:
        check_segment_name(name)

        async def step() -> Segment:
            before = await self._store.read(tenant, name)
            wanted = change(before)
            if wanted is None and before is not None:
                return before
            after = _next(before, wanted, self._clock.now_ms())
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Somebody else changed the segment just now.")
            return after

        after = await retry_on_conflict(step)
        self._cache.evict((tenant, name))
        return after

    async def _load(self, key: tuple[TenantId, str]) -> SegmentMembership | None:
        segment = await self._store.read(*key)
        return None if segment is None else SegmentMembership(segment, compile_segment(segment))


def _next(before: Segment | None, wanted: Segment | None, now_ms: int) -> Segment:
    if wanted is None or (before is not None and before.is_list != wanted.is_list):
        raise TidingsError(Code.REQUEST_INVALID, "A segment stays what it was made: a predicate, or a list.")
    return replace(wanted, version=(before.version if before else 0) + 1, updated_ms=now_ms)


def compile_segment(segment: Segment) -> Callable[[Profile], bool]:
    if segment.is_list:
        return lambda profile: segment.active in profile.lists.get(segment.name, ()) and segment.active > 0
    meets: Predicate = compile_predicate(segment.predicate)
    return lambda profile: meets(profile.attributes)


def check_segment_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{name!r} can't be a segment's name.",
            hint="1 to 64 letters, digits, `.`, `_` and `-`, the first a letter or a digit.",
        )
    return name


def _unknown(name: str) -> TidingsError:
    return TidingsError(Code.SEGMENT_NOT_FOUND, f"There is no segment {name}.")
