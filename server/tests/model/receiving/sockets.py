"""A device and its sockets, as the gateways have them: values, and what becomes of an entry that is sent.

Shared by the models of small chats. A frame that is sent to a device is held by it at once: frames that are lost on
their way, and range reads that take their time, are in `connection.py`.
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
    """A socket at a gateway. `target` is how far the rows said, `old` the route that it took over.

    `is_again`: it resumes, and was live before. `is_held`: the device is at its other end; a gateway does not know.
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
    """`position`: up to where it holds everything; `epochs` counts its registrations."""

    position: int = 0
    epochs: int = 0
    conns: tuple[Conn, ...] = ()

    @property
    def held(self) -> Conn | None:
        return next((conn for conn in self.conns if conn.is_held), None)


def at(device: Device, route: Route) -> Conn | None:
    """Who gets what is pushed to this route."""
    return next((conn for conn in device.conns if conn.epoch and conn.route == route), None)


def moved(device: Device, old: Conn, new: Conn) -> Device:
    conns = tuple(new if conn is old else conn for conn in device.conns)
    return Device(device.position, device.epochs, conns)


def without(device: Device, gone: Conn) -> Device:
    return device._replace(conns=tuple(conn for conn in device.conns if conn is not gone))


def orphaned(device: Device, conn: Conn) -> Device:
    """The device is gone from it. What only a living socket needs is blanked, so that states alike are one."""
    return moved(device, conn, Conn(conn.gateway, conn.epoch, LIVE, is_held=False))


def sent(device: Device, conn: Conn, sequences: Iterable[int]) -> tuple[Device, Promise | None]:
    """The device with these entries, and what is wrong with having sent them."""
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
    """What a device still lacks up to n: a push ahead of the next makes the gateway read the range between."""
    return range(device.position + 1, n + 1)
