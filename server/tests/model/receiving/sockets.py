"""A device and its sockets, as the gateways see them, and the effect of sending an entry.

Shared by the models of small chats. A device has a sent frame immediately; `connection.py` models frames lost in
flight and slow range reads.
"""

from collections.abc import Iterable
from typing import NamedTuple

from model.receiving.promises import Promise

INSTALLED, REGISTERED, READ, SENT, LIVE = range(5)
PHASES = ("installed", "registered", "read", "sent", "live")

NOWHERE = (-1, 0)
"""No route."""

type Route = tuple[int, int]
"""A gateway and an epoch."""


class Conn(NamedTuple):
    """A socket at a gateway. `target` is the head in the rows, `old` the route that it replaced.

    `is_again`: it resumes, and was live before. `is_held`: the device uses the socket, which a gateway cannot know.
    """

    gateway: int
    epoch: int = 0
    phase: int = INSTALLED
    target: int = 0
    drains: tuple[int, ...] = ()
    buffer: tuple[int, ...] = ()
    old: Route = NOWHERE
    is_rung: bool = False
    is_again: bool = False
    is_held: bool = True

    @property
    def route(self) -> Route:
        return (self.gateway, self.epoch)


class Device(NamedTuple):
    """`position`: the device has all entries up to here; `epochs` counts its registrations."""

    position: int = 0
    epochs: int = 0
    conns: tuple[Conn, ...] = ()

    @property
    def held(self) -> Conn | None:
        return next((conn for conn in self.conns if conn.is_held), None)


def at(device: Device, route: Route) -> Conn | None:
    """Return the socket that receives pushes to this route."""
    return next((conn for conn in device.conns if conn.epoch and conn.route == route), None)


def moved(device: Device, old: Conn, new: Conn) -> Device:
    conns = tuple(new if conn is old else conn for conn in device.conns)
    return Device(device.position, device.epochs, conns)


def without(device: Device, gone: Conn) -> Device:
    return device._replace(conns=tuple(conn for conn in device.conns if conn is not gone))


def orphaned(device: Device, conn: Conn) -> Device:
    """Disconnect the device from the socket.

    Fields that only a live socket needs are cleared, to merge equal states.
    """
    return moved(device, conn, Conn(conn.gateway, conn.epoch, LIVE, is_held=False))


def sent(device: Device, conn: Conn, sequences: Iterable[int]) -> tuple[Device, Promise | None]:
    """Return the device with these entries, and the promise that sending them violates."""
    position = device.position
    if not conn.is_held:
        return device, None
    for n in sequences:
        if n <= position:
            return device, Promise.IN_ORDER
        if n > position + 1:
            return device, Promise.NO_HOLE
        position = n
    return device._replace(position=position), None


def ahead(device: Device, n: int) -> range:
    """Return the entries that the device lacks up to n: a push that skips entries makes the gateway read the range."""
    return range(device.position + 1, n + 1)
