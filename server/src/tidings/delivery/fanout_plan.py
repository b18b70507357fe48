"""Who gets which part of a run of entries, and over which way. Pure: routes come in, pushes go out.

Steps 3 and 4 of the worker. The sender's own devices are among those who get it: other devices need it, and the one
that sent knows the sequence already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.chats.model import Membership
from tidings.connections.model import GatewayId, Route
from tidings.delivery.rules import LETS_IN, EntryRun, changes_members
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind, visible_ranges

type UserKey = tuple[TenantId, UserId]
type RoutesByUser = Mapping[UserKey, Sequence[Route]]


class EntrySpan(NamedTuple):
    """Of a run this user gets the entries from `first` to `last`."""

    user: UserId
    first: int
    last: int


class RoutedBatch(NamedTuple):
    """Entries that go to people by their routes. `is_large`: from the last of them on the chat's channel takes over."""

    entries: EntryRun
    spans: tuple[EntrySpan, ...]
    is_large: bool = False


class FanoutPlan(NamedTuple):
    """What becomes of a run. `on_channel`: what a large chat's channel carries; `keeps`: whose messages are kept for
    whoever has no route.
    """

    chat: ChatKey
    legs: tuple[RoutedBatch, ...]
    on_channel: EntryRun = ()
    keeps: Mapping[UserId, tuple[Entry, ...]] = {}

    @property
    def users(self) -> Sequence[UserKey]:
        """Return each user once, in the order of the spans, so that a simulated run does not depend on hashes."""
        return tuple(dict.fromkeys((self.chat.tenant, span.user) for leg in self.legs for span in leg.spans))


def plan_small(
    chat: ChatKey, run: EntryRun, members: Sequence[Membership], *, becomes_large: bool = False
) -> FanoutPlan:
    spans = tuple(split_spans(members, run))
    return FanoutPlan(chat, (RoutedBatch(run, spans, becomes_large),), keeps=_keeps(run, spans))


def plan_large(chat: ChatKey, run: EntryRun) -> FanoutPlan:
    """One publish for all; and by their routes those whom an entry lets in or takes out.

    They do not listen yet, or must hear of it whether they listen or not.
    """
    spans = tuple(_named(run))
    return FanoutPlan(chat, (RoutedBatch(run, spans, is_large=True),) if spans else (), run)


def split_spans(members: Iterable[Membership], run: EntryRun) -> Iterator[EntrySpan]:
    """Everybody's intervals, cut to the run: nobody gets what is outside of his own."""
    for member in members:
        for low, high in visible_ranges(member.intervals, run[0].sequence - 1, run[-1].sequence):
            yield EntrySpan(member.user, low + 1, high)


def _named(run: EntryRun) -> Iterator[EntrySpan]:
    for at, entry in enumerate(run):
        if not changes_members(entry):
            continue
        for user in entry.users:
            last = entry.sequence if entry.kind is EntryKind.LEAVE else _member_until(user, run[at:])
            yield EntrySpan(user, entry.sequence, last)


def _member_until(user: UserId, rest: EntryRun) -> int:
    """Up to where somebody who came in with the first of these entries gets them: his leaving has a span of its own."""
    for entry in rest[1:]:
        if user in entry.users and (entry.kind is EntryKind.LEAVE or entry.kind in LETS_IN):
            return entry.sequence - 1
    return rest[-1].sequence


def _keeps(run: EntryRun, spans: Iterable[EntrySpan]) -> dict[UserId, tuple[Entry, ...]]:
    """Messages alone: whatever else happened shows when positions are compared, and so does what one sent oneself."""
    emptied = {entry.refers_to for entry in run if entry.kind is EntryKind.REDACTION}
    messages = [
        entry
        for entry in run
        if entry.kind is EntryKind.MESSAGE and entry.redacted_at_ms is None and entry.sequence not in emptied
    ]
    kept: dict[UserId, tuple[Entry, ...]] = {}
    for user, first, last in spans:
        his = tuple(m for m in messages if first <= m.sequence <= last and m.sender != user)
        if his:
            kept[user] = kept.get(user, ()) + his
    return kept


def build_pushes(plans: Iterable[FanoutPlan], found: RoutesByUser) -> dict[GatewayId, list[Push]]:
    """For each gateway all that goes there, chat by chat, each chat's entries once and in order."""
    going: dict[GatewayId, list[Push]] = {}
    for plan in plans:
        for leg in plan.legs:
            for gateway, parts in _parts(plan.chat.tenant, leg.spans, found).items():
                going.setdefault(gateway, []).append(_push(plan.chat, leg, parts))
    return going


def _parts(
    tenant: TenantId, spans: Iterable[EntrySpan], found: RoutesByUser
) -> dict[GatewayId, list[PushSlice]]:
    devices: dict[GatewayId, dict[tuple[int, int], list[DeviceTarget]]] = {}
    for user, first, last in spans:
        for route in found.get((tenant, user), ()):
            there = devices.setdefault(route.gateway, {}).setdefault((first, last), [])
            there.append(DeviceTarget(user, route.device, route.epoch))
    return {
        gateway: [PushSlice(first, last, tuple(those)) for (first, last), those in parts.items()]
        for gateway, parts in devices.items()
    }


def _push(chat: ChatKey, batch: RoutedBatch, parts: list[PushSlice]) -> Push:
    """Only what somebody there gets."""
    first, last = min(part.first for part in parts), max(part.last for part in parts)
    entries = tuple(entry for entry in batch.entries if first <= entry.sequence <= last)
    return Push(chat.tenant, chat.chat, entries, tuple(parts), batch.is_large)
