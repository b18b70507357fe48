"""Segments of users, their profiles, and the broadcasts that a user receives by them.

A predicate is JSON. It is validated and bounded once, then compiled to a function of a user's attributes:

    {"all": [{"attribute": "plan", "in": ["pro", "team"]}, {"not": {"attribute": "country", "is": "DE"}}]}

A missing attribute or one of another type does not match; it is never an error.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from tidings.inboxes.broadcasts.log import BroadcastLogCache
from tidings.inboxes.broadcasts.model import BroadcastIndex, BroadcastLogId, Profile, Segment, UserBroadcasts
from tidings.inboxes.broadcasts.ports import ProfileStore, SegmentStore
from tidings.inboxes.model import ConfigPage
from tidings.kernel.action_notes import note_change
from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId, stable_hash

MAX_DEPTH = 8
MAX_TESTS = 64
MAX_VALUES = 100

type Predicate = Callable[[Mapping[str, Any]], bool]
type ValueTest = Callable[[Any], bool]


def compile_predicate(predicate: object) -> Predicate:
    """Compile a predicate. Raises `request_invalid`."""
    if len(msgspec.json.encode(predicate)) > MAX_BYTES:
        raise _invalid(f"It is larger than {MAX_BYTES} bytes.")
    return _PredicateReader().read(predicate, 1)


class _PredicateReader:
    """Compiles a predicate and bounds its number of tests."""

    def __init__(self) -> None:
        self._tests = 0

    def read(self, predicate: object, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise _invalid(f"It is nested deeper than {MAX_DEPTH} levels.")
        match predicate:
            case {"all": list(parts), **rest} if not rest:
                every = [self.read(each, depth + 1) for each in parts]
                return lambda attributes: all(holds(attributes) for holds in every)
            case {"any": list(parts), **rest} if not rest:
                some = [self.read(each, depth + 1) for each in parts]
                return lambda attributes: any(holds(attributes) for holds in some)
            case {"not": part, **rest} if not rest:
                inner = self.read(part, depth + 1)
                return lambda attributes: not inner(attributes)
            case {"attribute": str(name), **rest} if len(rest) == 1:
                test, value = rest.popitem()
                return self._one(name, str(test), value)
        raise _invalid("Each part must be `all`, `any`, `not`, or an `attribute` with one test.")

    def _one(self, name: str, test: str, value: object) -> Predicate:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise _invalid(f"It has more than {MAX_TESTS} tests.")
        if test == "exists" and isinstance(value, bool):
            return lambda attributes: (name in attributes) is value
        meets = _TESTS.get(test, _unknown_operator)(value)
        return lambda attributes: name in attributes and meets(attributes[name])


def _is(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    kind, wanted = _kind(value), value
    if kind is None:
        raise _invalid("`is` takes a string, a number, true or false.")
    return lambda found: _kind(found) is kind and found == wanted


def _in(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    if not isinstance(value, list) or not 0 < len(value) <= MAX_VALUES:
        raise _invalid(f"`in` takes 1 to {MAX_VALUES} values.")
    tests = [_is(each) for each in value]
    return lambda found: any(test(found) for test in tests)


def _has(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    test = _is(value)
    return lambda found: isinstance(found, list) and any(test(each) for each in found)


def _at_least(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    wanted = _number(value)
    return lambda found: _kind(found) is float and found >= wanted


def _below(value: Any) -> ValueTest:  # noqa: ANN401 - any JSON
    wanted = _number(value)
    return lambda found: _kind(found) is float and found < wanted


def _unknown_operator(_: object) -> ValueTest:
    raise _invalid("The tests are `is`, `in`, `has`, `at_least`, `below` and `exists`.")


_TESTS: dict[str, Callable[[Any], ValueTest]] = {
    "is": _is,
    "in": _in,
    "has": _has,
    "at_least": _at_least,
    "below": _below,
}


def _kind(value: object) -> type | None:
    """Return the JSON type: `True` differs from 1, and 1 equals 1.0."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float):
        return float
    return str if isinstance(value, str) else None


def _number(value: Any) -> float:  # noqa: ANN401 - any JSON
    if _kind(value) is not float:
        raise _invalid("`at_least` and `below` take a number.")
    number: float = value
    return number


def _invalid(reason: str) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"Invalid predicate. {reason}")


CACHE_POLICY = CachePolicy(fresh_s=5.0, outage_s=600.0)
MAX_LISTED = 1_000
"""Users of one upload, which writes one item for each. A longer list needs several uploads, then `activate`."""
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
        """Return a segment from the cache. Raises `segment_not_found`."""
        found = await self._cache.get((tenant, check_segment_name(name)))
        if found is None:
            raise _not_found(name)
        return found

    async def holding(self, tenant: TenantId, names: Iterable[str], profile: Profile) -> list[str]:
        """Return the segments that contain the user. Segments are never deleted, so each exists."""
        return [name for name in names if (await self.of(tenant, name)).contains(profile)]

    async def listed(self, tenant: TenantId, limit: int, after: str | None = None) -> ConfigPage[Segment]:
        """Return a page of the segments by name."""
        return await self._store.listed(tenant, limit, after)

    async def read(self, tenant: TenantId, name: str) -> Segment:
        found = await self._store.read(tenant, check_segment_name(name))
        if found is None:
            raise _not_found(name)
        return found

    async def set_predicate(self, tenant: TenantId, name: str, predicate: Mapping[str, Any]) -> Segment:
        compile_predicate(predicate)
        return await self._change(tenant, name, lambda _: Segment(name=name, predicate=predicate))

    async def upload(
        self, tenant: TenantId, name: str, users: Sequence[UserId], version: int | None
    ) -> Segment:
        """Add users to a version of a list that is not active yet: `version`, or a new one, returned as `newest`."""
        if not 0 < len(users) <= MAX_LISTED:
            raise TidingsError(Code.REQUEST_INVALID, f"Upload 1 to {MAX_LISTED} users at a time.")

        def open_version(before: Segment | None) -> Segment | None:
            if before is not None and version == before.newest > before.active:
                return None
            if version is not None:
                raise TidingsError(
                    Code.REQUEST_INVALID, f"Version {version} of the list does not accept users."
                )
            newest = 1 if before is None else before.newest + 1
            return Segment(name=name, is_list=True, active=before.active if before else 0, newest=newest)

        segment = await self._change(tenant, name, open_version)
        await self._profiles.enlist(tenant, set(users), name, segment.newest, self._clock.now_ms())
        return segment

    async def activate(self, tenant: TenantId, name: str, version: int) -> Segment:
        """Make a version of the list the active one. The newest version and the one before it can be activated."""

        def activated(before: Segment | None) -> Segment | None:
            if before is None or not before.is_list:
                raise _not_found(name)
            if version not in (before.newest, before.newest - 1) or version == 0:
                raise TidingsError(
                    Code.REQUEST_INVALID,
                    f"Version {version} of the list does not exist. Choose {before.newest} or {before.newest - 1}.",
                )
            return None if version == before.active else replace(before, active=version)

        return await self._change(tenant, name, activated)

    async def _change(
        self, tenant: TenantId, name: str, change: Callable[[Segment | None], Segment | None]
    ) -> Segment:
        check_segment_name(name)

        async def step() -> Segment:
            before = await self._store.read(tenant, name)
            changed = change(before)
            if changed is None and before is not None:
                return before
            after = _next(before, changed, self._clock.now_ms())
            if not await self._store.write(tenant, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the segment. Try again.")
            note_change(before, after)
            return after

        after = await retry_on_conflict(step)
        self._cache.evict((tenant, name))
        return after

    async def _load(self, key: tuple[TenantId, str]) -> SegmentMembership | None:
        segment = await self._store.read(*key)
        return None if segment is None else SegmentMembership(segment, compile_segment(segment))


def _next(before: Segment | None, changed: Segment | None, now_ms: int) -> Segment:
    if changed is None or (before is not None and before.is_list != changed.is_list):
        raise TidingsError(Code.REQUEST_INVALID, "The type of a segment, predicate or list, cannot change.")
    return replace(changed, version=(before.version if before else 0) + 1, updated_ms=now_ms)


def compile_segment(segment: Segment) -> Callable[[Profile], bool]:
    if segment.is_list:
        return lambda profile: segment.active in profile.lists.get(segment.name, ()) and segment.active > 0
    meets: Predicate = compile_predicate(segment.predicate)
    return lambda profile: meets(profile.attributes)


def check_segment_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"Invalid segment name {name!r}.",
            hint="Use 1 to 64 letters, digits, `.`, `_` and `-`. The first is a letter or a digit.",
        )
    return name


def _not_found(name: str) -> TidingsError:
    return TidingsError(Code.SEGMENT_NOT_FOUND, f"Segment `{name}` does not exist.")


class BroadcastTargeting:
    """Decides which broadcasts a user receives.

    A user's profile is read only if a live broadcast has a segment, or if the user reads the inbox for the first time.
    """

    def __init__(self, cache: BroadcastLogCache, segments: SegmentService, profiles: ProfileStore) -> None:
        self._cache = cache
        self._segments = segments
        self._profiles = profiles

    async def of(
        self, log: BroadcastLogId, user: UserId, *, is_joined: bool, at_least: int = 0
    ) -> UserBroadcasts:
        index = await self._cache.index(log, at_least)
        if not index.releases:
            return UserBroadcasts(index, 0, 0)
        if is_joined and not index.segments:
            return UserBroadcasts(index, index.reached(stable_hash(user), ()), 0)
        return await self._by_profile(index, log.tenant, user)

    async def is_in(self, tenant: TenantId, segment: str, user: UserId) -> bool:
        """Return whether a user is in a segment, by their current profile."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        return segment in await self._segments.holding(tenant, [segment], profile)

    async def _by_profile(self, index: BroadcastIndex, tenant: TenantId, user: UserId) -> UserBroadcasts:
        """Evaluate the user's segments. A user without a profile has no creation time and gets all live broadcasts."""
        profile = await self._profiles.read(tenant, user) or Profile(user=user)
        names = await self._segments.holding(tenant, index.segments, profile)
        return UserBroadcasts(
            index, index.reached(stable_hash(user), names), index.until_ms(profile.created_ms - 1)
        )


MAX_BYTES = 4 * 1024
MAX_ATTRIBUTES = 64


class ProfileService:
    def __init__(self, store: ProfileStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def read(self, tenant: TenantId, user: UserId) -> Profile:
        found = await self._store.read(tenant, user)
        if found is None:
            raise TidingsError(Code.USER_NOT_FOUND, f"User `{user}` has no profile.")
        return found

    async def set(
        self, tenant: TenantId, user: UserId, attributes: Mapping[str, Any], created_ms: int | None = None
    ) -> Profile:
        """Replace all attributes. `created_ms`, by default now, is stored by the first call only."""
        if len(attributes) > MAX_ATTRIBUTES or len(msgspec.json.encode(attributes)) > MAX_BYTES:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A profile has at most {MAX_ATTRIBUTES} attributes and {MAX_BYTES} bytes.",
            )
        await self._store.set(tenant, user, attributes, created_ms, self._clock.now_ms())
        return await self.read(tenant, user)
