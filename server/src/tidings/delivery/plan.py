"""Who gets which part of a run of entries, and over which way. Pure: routes come in, pushes go out.

Steps 3 and 4 of the worker. The sender's own devices are among those who get it: other devices need it, and the one
that sent knows the sequence already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidings.chats.model import Membership, visible
from tidings.delivery.rules import LETS_IN, Run, moves_members
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Entry, Kind
from tidings.routing.model import Addressee, GatewayId, Part, Push, Route

type Person = tuple[TenantId, UserId]
type Found = Mapping[Person, Sequence[Route]]


class Span(NamedTuple):
    """Of a run this user gets the entries from `first` to `last`."""

    user: UserId
    first: int
    last: int


class Leg(NamedTuple):
    """Entries that go to people by their routes. `is_large`: from the last of them on the chat's channel takes over."""

    entries: Run
    spans: tuple[Span, ...]
    is_large: bool = False


class Plan(NamedTuple):
    """What becomes of a run. `on_channel`: what a large chat's channel carries; `keeps`: whose messages are kept for
    whoever has no route.
    """

    chat: ChatKey
    legs: tuple[Leg, ...]
    on_channel: Run = ()
    keeps: Mapping[UserId, tuple[Entry, ...]] = {}

    @property
    def people(self) -> Sequence[Person]:
        """Return each user once, in the order of the spans, so that a simulated run does not depend on hashes."""
        return tuple(dict.fromkeys((self.chat.tenant, span.user) for leg in self.legs for span in leg.spans))


def plan_small(
    chat: ChatKey, run: Run, members: Sequence[Membership], *, becomes_large: bool = False
) -> Plan:
    spans = tuple(spans_of(members, run))
    return Plan(chat, (Leg(run, spans, becomes_large),), keeps=_keeps(run, spans))


def plan_large(chat: ChatKey, run: Run) -> Plan:
    """One publish for all; and by their routes those whom an entry lets in or takes out.

    They do not listen yet, or must hear of it whether they listen or not.
    """
    spans = tuple(_named(run))
    return Plan(chat, (Leg(run, spans, is_large=True),) if spans else (), run)


def spans_of(members: Iterable[Membership], run: Run) -> Iterator[Span]:
    """Everybody's intervals, cut to the run: nobody gets what is outside of his own."""
    for member in members:
        for low, high in visible(member.intervals, run[0].sequence - 1, run[-1].sequence):
            yield Span(member.user, low + 1, high)


def _named(run: Run) -> Iterator[Span]:
    for at, entry in enumerate(run):
        if not moves_members(entry):
            continue
        for user in entry.users:
            last = entry.sequence if entry.kind is Kind.LEAVE else _stays_until(user, run[at:])
            yield Span(user, entry.sequence, last)


def _stays_until(user: UserId, rest: Run) -> int:
    """Up to where somebody who came in with the first of these entries gets them: his leaving has a span of its own."""
    for entry in rest[1:]:
        if user in entry.users and (entry.kind is Kind.LEAVE or entry.kind in LETS_IN):
            return entry.sequence - 1
    return rest[-1].sequence


def _keeps(run: Run, spans: Iterable[Span]) -> dict[UserId, tuple[Entry, ...]]:
    """Messages alone: whatever else happened shows when positions are compared, and so does what one sent oneself."""
    emptied = {entry.refers_to for entry in run if entry.kind is Kind.REDACTION}
    messages = [
        entry
        for entry in run
        if entry.kind is Kind.MESSAGE and entry.redacted_at_ms is None and entry.sequence not in emptied
    ]
    kept: dict[UserId, tuple[Entry, ...]] = {}
    for user, first, last in spans:
        his = tuple(m for m in messages if first <= m.sequence <= last and m.sender != user)
        if his:
            kept[user] = kept.get(user, ()) + his
    return kept


def pushes(plans: Iterable[Plan], found: Found) -> dict[GatewayId, list[Push]]:
    """For each gateway all that goes there, chat by chat, each chat's entries once and in order."""
    going: dict[GatewayId, list[Push]] = {}
    for plan in plans:
        for leg in plan.legs:
            for gateway, parts in _parts(plan.chat.tenant, leg.spans, found).items():
                going.setdefault(gateway, []).append(_push(plan.chat, leg, parts))
    return going


def _parts(tenant: TenantId, spans: Iterable[Span], found: Found) -> dict[GatewayId, list[Part]]:
    devices: dict[GatewayId, dict[tuple[int, int], list[Addressee]]] = {}
    for user, first, last in spans:
        for route in found.get((tenant, user), ()):
            there = devices.setdefault(route.gateway, {}).setdefault((first, last), [])
            there.append(Addressee(user, route.device, route.epoch))
    return {
        gateway: [Part(first, last, tuple(those)) for (first, last), those in parts.items()]
        for gateway, parts in devices.items()
    }


def _push(chat: ChatKey, leg: Leg, parts: list[Part]) -> Push:
    """Only what somebody there gets."""
    first, last = min(part.first for part in parts), max(part.last for part in parts)
    entries = tuple(entry for entry in leg.entries if first <= entry.sequence <= last)
    return Push(chat.tenant, chat.chat, entries, tuple(parts), leg.is_large)
