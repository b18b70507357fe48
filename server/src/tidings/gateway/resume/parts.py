"""What resuming is made of, and what an operator sets about it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tidings.gateway.acks import Acks
from tidings.gateway.ports import Listing, Queue, Reading, Rows
from tidings.gateway.pushing.rooms import Rooms
from tidings.gateway.resume.plan import Tails
from tidings.gateway.resume.ranges import Ranges
from tidings.gateway.resume.sending import Sending
from tidings.routing.ports import Line, Routes


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """`at_once`: resumes that devices asked for and that read at the same time, of which a tenant has at most
    `tenant_share`. `per_user`: resumes of one user that run at the same time. `again_at_once`: resumes of connected
    devices that may have missed something.

    `within_s`: after this time a device that is not live is closed. `tries`: attempts for a device that may have
    missed something; then it is closed, and reconnects.
    """

    at_once: int = 64
    tenant_share: float = 0.8
    per_user: int = 2
    again_at_once: int = 16
    within_s: float = 30.0
    tries: int = 6
    kept: int = 1_000
    tails: Tails = field(default_factory=Tails)


class Parts(NamedTuple):
    """The collaborators of `Resuming`."""

    routes: Routes
    line: Line
    rooms: Rooms
    rows: Rows
    queue: Queue
    listing: Listing
    history: Reading
    ranges: Ranges
    sending: Sending
    acks: Acks
