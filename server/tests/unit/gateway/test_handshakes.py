"""A new handshake always finds room, at the cost of an idle one, and of the same address first."""

from tidings.gateway.transport.handshake import HandshakeTracker


class FakeConnection:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def added(handshakes: HandshakeTracker[FakeConnection], *names: str) -> list[FakeConnection]:
    """Named after their address and a number; `+` has sent something."""
    connections = [FakeConnection(name) for name in names]
    for connection in connections:
        handshakes.add(connection, connection.name[0])
        if connection.name.endswith("+"):
            handshakes.spoke(connection)
    return connections


def dropped(connections: list[FakeConnection]) -> list[str]:
    return [connection.name for connection in connections if connection.is_dropped]


def test_the_oldest_that_has_sent_nothing_makes_room() -> None:
    handshakes: HandshakeTracker[FakeConnection] = HandshakeTracker(3, 3, FakeConnection.drop)
    connections = added(handshakes, "a1+", "b1", "c1", "d1", "e1")
    assert dropped(connections) == ["b1", "c1"]
    assert len(handshakes) == 3


def test_the_oldest_makes_room_if_all_have_sent_something() -> None:
    connections = added(HandshakeTracker(2, 2, FakeConnection.drop), "a1+", "b1+", "c1")
    assert dropped(connections) == ["a1+"]


def test_an_address_at_its_share_drops_its_own_oldest_handshake() -> None:
    handshakes: HandshakeTracker[FakeConnection] = HandshakeTracker(10, 2, FakeConnection.drop)
    connections = added(handshakes, "b1", "a1+", "a2", "a3", "a4+", "b2")
    assert dropped(connections) == ["a2", "a3"]
    connections += added(handshakes, "a5")
    assert dropped(connections) == ["a1+", "a2", "a3"]


def test_a_finished_handshake_frees_its_slot() -> None:
    handshakes: HandshakeTracker[FakeConnection] = HandshakeTracker(2, 1, FakeConnection.drop)
    (connection,) = added(handshakes, "a1")
    handshakes.discard(connection)
    handshakes.discard(connection)
    assert dropped([connection, *added(handshakes, "a2", "b1")]) == []


def test_a_trusted_proxy_connects_for_many() -> None:
    handshakes: HandshakeTracker[FakeConnection] = HandshakeTracker(3, 1, FakeConnection.drop)
    connections = [FakeConnection("p") for _ in range(3)]
    for connection in connections:
        handshakes.add(connection, None)
    assert dropped(connections) == []
