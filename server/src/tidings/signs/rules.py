"""How receipts merge, forward only. Pure."""

from collections.abc import Iterable, Mapping

from tidings.kernel.ids import UserId
from tidings.signs.model import Got


def further(one: Got, other: Got) -> Got:
    """Both of one member: of each part the furthest, in whatever order they came."""
    return Got(
        one.user,
        max(one.delivered, other.delivered),
        max(one.read, other.read),
        max(one.since, other.since),
    )


def merge(known: dict[UserId, Got], heard: Iterable[Got]) -> None:
    for got in heard:
        before = known.get(got.user)
        known[got.user] = got if before is None else further(before, got)


def raised(whole: Iterable[Got], heard: Mapping[UserId, Got]) -> tuple[Got, ...]:
    """A whole state, with what was heard while it was read. Who is not in it is not told of."""
    return tuple(further(got, heard[got.user]) if got.user in heard else got for got in whole)
