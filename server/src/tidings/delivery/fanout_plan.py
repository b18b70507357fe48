"""Plan which user receives which part of a run of entries, and turn routes into pushes. Pure.

The sender's devices receive the entries too: their other devices need them, and the sending device already has the
sequence and ignores the push.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.chats.model import Membership
from tidings.connections.model import GatewayId, Route
from tidings.delivery.rules import JOINS, EntryRun, changes_members
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, visible_ranges

type UserKey = tuple[TenantId, UserId]
type RoutesByUser = Mapping[UserKey, Sequence[Route]]


class EntrySpan(NamedTuple):
    """The user receives the entries from `first` to `last` of a run."""

    user: UserId
    first: int
    last: int


class RoutedBatch(NamedTuple):
    """Entries to push by routes. `is_large`: after the last of them, entries are published on the chat's channel."""

    entries: EntryRun
    spans: tuple[EntrySpan, ...]
    is_large: bool = False


class ReachedUsers(NamedTuple):
    """Which users have the deferred entries, from earlier attempts.

    All users have them up to `up_to`, except those in `missed_by`, who lack them from the given sequence on.
    """

    up_to: int
    missed_by: Mapping[UserId, int]

    def rest(self, spans: Iterable[EntrySpan]) -> Iterator[EntrySpan]:
        """Return the parts of the spans that their users do not have."""
        for user, first, last in spans:
            start = max(first, self.missed_by.get(user, self.up_to + 1))
            if start <= last:
                yield EntrySpan(user, start, last)

    def lacking_before(self, first: int) -> frozenset[UserId]:
        """Return the users who lack an entry before `first`."""
        return frozenset(user for user, lacked in self.missed_by.items() if lacked < first)

    def after_attempt(self, first: int, last: int, missed_by: AbstractSet[UserId]) -> "ReachedUsers":
        """Return which users have the entries after `first` to `last` were pushed to all users but the given ones.

        first: at most `up_to + 1`.
        """
        up_to = max(self.up_to, last)
        lacked = dict.fromkeys(missed_by, self.up_to + 1)
        for user, start in self.missed_by.items():
            is_reached = first <= start and user not in missed_by
            lacked[user] = max(start, last + 1) if is_reached else start
        return ReachedUsers(up_to, {user: start for user, start in lacked.items() if start <= up_to})


class FanoutPlan(NamedTuple):
    """The fan-out of a run.

    routed: entries to push by routes. on_channel: entries to publish on a large chat's channel. offline_messages: the
    messages that count as missed for each user without a route. reached: the users that need no push of earlier entries.
    left_out: users who lack earlier entries and get none of these yet, so that the chat stays deferred.
    """

    chat: ChatKey
    routed: tuple[RoutedBatch, ...]
    on_channel: EntryRun = ()
    offline_messages: Mapping[UserId, tuple[Entry, ...]] = {}
    reached: ReachedUsers | None = None
    left_out: frozenset[UserId] = frozenset()

    @property
    def unpublished(self) -> EntryRun:
        """Return the entries that no earlier attempt has published on the chat's channel."""
        up_to = self.reached.up_to if self.reached else 0
        return [entry for entry in self.on_channel if entry.sequence > up_to]

    @property
    def users(self) -> Sequence[UserKey]:
        """Return each user once, in the order of the spans, so that a simulated run does not depend on hashes."""
        return tuple(
            dict.fromkeys((self.chat.tenant, span.user) for batch in self.routed for span in batch.spans)
        )


def plan_small(
    chat: ChatKey,
    run: EntryRun,
    members: Sequence[Membership],
    *,
    becomes_large: bool = False,
    reached: ReachedUsers | None = None,
    left_out: frozenset[UserId] = frozenset(),
) -> FanoutPlan:
    spans = tuple(span for span in split_spans(members, run) if span.user not in left_out)
    return FanoutPlan(
        chat,
        (RoutedBatch(run, spans, becomes_large),),
        offline_messages=_offline_messages(run, spans),
        reached=reached,
        left_out=left_out,
    )


def plan_large(
    chat: ChatKey,
    run: EntryRun,
    *,
    reached: ReachedUsers | None = None,
    left_out: frozenset[UserId] = frozenset(),
) -> FanoutPlan:
    """Plan one publish for all members, and pushes by routes to the users who join or leave.

    A user who joins is not subscribed yet. A user who leaves must receive the leave, subscribed or not.
    """
    spans = tuple(span for span in _joined_or_left(run) if span.user not in left_out)
    routed = (RoutedBatch(run, spans, is_large=True),) if spans else ()
    return FanoutPlan(chat, routed, run, reached=reached, left_out=left_out)


def split_spans(members: Iterable[Membership], run: EntryRun) -> Iterator[EntrySpan]:
    """Return the parts of the run inside each member's intervals: no user receives an entry outside of them."""
    for member in members:
        for low, high in visible_ranges(member.intervals, run[0].sequence - 1, run[-1].sequence):
            yield EntrySpan(member.user, low + 1, high)


def _joined_or_left(run: EntryRun) -> Iterator[EntrySpan]:
    for index, entry in enumerate(run):
        if not changes_members(entry):
            continue
        for user in entry.users:
            last = entry.sequence if entry.kind is EntryKind.LEAVE else _member_until(user, run[index:])
            yield EntrySpan(user, entry.sequence, last)


def _member_until(user: UserId, rest: EntryRun) -> int:
    """Return the last entry for a user who joins with the first of `rest`. The leave has a span of its own."""
    for entry in rest[1:]:
        if user in entry.users and (entry.kind is EntryKind.LEAVE or entry.kind in JOINS):
            return entry.sequence - 1
    return rest[-1].sequence


def _offline_messages(run: EntryRun, spans: Iterable[EntrySpan]) -> dict[UserId, tuple[Entry, ...]]:
    """Return the messages that a user without a route misses, without redacted ones and the user's own.

    They are queued in direct chats, and announced by offline events in all others that are not large.
    """
    redacted = {entry.refers_to for entry in run if entry.kind is EntryKind.REDACTION}
    messages = [
        entry
        for entry in run
        if entry.kind is EntryKind.MESSAGE and entry.redacted_at_ms is None and entry.sequence not in redacted
    ]
    found: dict[UserId, tuple[Entry, ...]] = {}
    for user, first, last in spans:
        wanted = tuple(m for m in messages if first <= m.sequence <= last and m.sender != user)
        if wanted:
            found[user] = found.get(user, ()) + wanted
    return found


def build_pushes(plans: Iterable[FanoutPlan], routes: RoutesByUser) -> dict[GatewayId, list[Push]]:
    """Return the pushes by gateway, chat by chat; each payload once, with its devices, in order."""
    pushes: dict[GatewayId, list[Push]] = {}
    for plan in plans:
        for batch in plan.routed:
            spans = batch.spans if plan.reached is None else plan.reached.rest(batch.spans)
            for gateway, slices in _slices(plan.chat.tenant, spans, routes).items():
                pushes.setdefault(gateway, []).append(_push(plan.chat, batch, slices))
    return pushes


def _slices(
    tenant: TenantId, spans: Iterable[EntrySpan], routes: RoutesByUser
) -> dict[GatewayId, list[PushSlice]]:
    targets: dict[GatewayId, dict[tuple[int, int], list[DeviceTarget]]] = {}
    for user, first, last in spans:
        for route in routes.get((tenant, user), ()):
            devices = targets.setdefault(route.gateway, {}).setdefault((first, last), [])
            devices.append(DeviceTarget(user, route.device, route.epoch))
    return {
        gateway: [PushSlice(first, last, tuple(devices)) for (first, last), devices in found.items()]
        for gateway, found in targets.items()
    }


def _push(chat: ChatKey, batch: RoutedBatch, slices: list[PushSlice]) -> Push:
    """Return a push with only those entries that a device of the gateway receives."""
    first, last = min(part.first for part in slices), max(part.last for part in slices)
    entries = tuple(entry for entry in batch.entries if first <= entry.sequence <= last)
    return Push(chat.tenant, chat.chat, entries, tuple(slices), batch.is_large)
