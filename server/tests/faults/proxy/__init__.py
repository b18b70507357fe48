"""Proxies that inject faults between a client and a real engine. See docs/howto/test-with-faults.md."""

from faults.proxy.calls import Call
from faults.proxy.capacity_limits import CapacityLimit, TableCapacity
from faults.proxy.connection_faults import (
    CloseIdle,
    DropAnswer,
    DropRequest,
    Garbage,
    HalfAnswer,
    Part,
    SlowBytes,
    Spoilt,
)
from faults.proxy.dynamo_proxy import DynamoProxy
from faults.proxy.frequency import Always, Between, Chance, Every, Times
from faults.proxy.held_requests import HeldRequest
from faults.proxy.installed import InstalledFault
from faults.proxy.matching import Match
from faults.proxy.service_faults import Conflict, Deny, InProgress, InternalError, Throttle, Throttled
from faults.proxy.tcp_faults import Bandwidth, Blackhole, Direction, Freeze, Latency, Refuse
from faults.proxy.tcp_proxy import InstalledTcpFault, TcpProxy
from faults.proxy.time_faults import Delay, Hold, Point, Repeat
from faults.proxy.unprocessed import Unprocessed

__all__ = [
    "Always",
    "Bandwidth",
    "Between",
    "Blackhole",
    "Call",
    "CapacityLimit",
    "Chance",
    "CloseIdle",
    "Conflict",
    "Delay",
    "Deny",
    "Direction",
    "DropAnswer",
    "DropRequest",
    "DynamoProxy",
    "Every",
    "Freeze",
    "Garbage",
    "HalfAnswer",
    "HeldRequest",
    "Hold",
    "InProgress",
    "InstalledFault",
    "InstalledTcpFault",
    "InternalError",
    "Latency",
    "Match",
    "Part",
    "Point",
    "Refuse",
    "Repeat",
    "SlowBytes",
    "Spoilt",
    "TableCapacity",
    "TcpProxy",
    "Throttle",
    "Throttled",
    "Times",
    "Unprocessed",
]
