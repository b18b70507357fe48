"""A crowd on top of a full house: some are waited for in order to be told, the rest is cut off at once."""

import asyncio

from uvicorn import Config
from uvicorn.server import ServerState

from tidings.run.edge import patience
from tidings.run.edge.patience import Bounds, bounded

ROOM = 3


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True

    def is_closing(self) -> bool:
        return self.is_cut

    def close(self) -> None:
        self.is_cut = True


async def _app(scope: object, receive: object, send: object) -> None:
    del scope, receive, send
    raise AssertionError("nobody has asked anything")


async def test_how_many_are_waited_for_in_order_to_be_refused_is_bounded() -> None:
    kind = bounded(Bounds(receive_s=30, max_connections=ROOM, docs_root="/"))
    config, state = Config(_app, http=kind, lifespan="off", log_config=None), ServerState()
    config.load()
    wires = [Wire() for _ in range(ROOM + patience._CROWD + 2)]
    guests = [kind(config, state, {}) for _ in wires]
    for guest, wire in zip(guests, wires, strict=True):
        guest.connection_made(wire)
    assert [wire.is_cut for wire in wires] == [False] * (ROOM + patience._CROWD) + [True] * 2
    for guest in guests:
        guest.connection_lost(ConnectionResetError())
    assert state.connections == set()
