"""A new handshake always finds room, at the cost of an idle one, and of the same address first."""

from tidings.gateway.transport.handshake import HandshakeTracker


class Door:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def added(handshakes: HandshakeTracker[Door], *names: str) -> list[Door]:
    """Named after their address and a number; `+` has sent something."""
    doors = [Door(name) for name in names]
    for door in doors:
        handshakes.add(door, door.name[0])
        if door.name.endswith("+"):
            handshakes.spoke(door)
    return doors


def dropped(doors: list[Door]) -> list[str]:
    return [door.name for door in doors if door.is_dropped]


def test_the_oldest_that_has_sent_nothing_makes_room() -> None:
    handshakes: HandshakeTracker[Door] = HandshakeTracker(3, 3, Door.drop)
    doors = added(handshakes, "a1+", "b1", "c1", "d1", "e1")
    assert dropped(doors) == ["b1", "c1"]
    assert len(handshakes) == 3


def test_the_oldest_makes_room_if_all_have_sent_something() -> None:
    doors = added(HandshakeTracker(2, 2, Door.drop), "a1+", "b1+", "c1")
    assert dropped(doors) == ["a1+"]


def test_an_address_that_has_its_share_makes_room_by_itself() -> None:
    handshakes: HandshakeTracker[Door] = HandshakeTracker(10, 2, Door.drop)
    doors = added(handshakes, "b1", "a1+", "a2", "a3", "a4+", "b2")
    assert dropped(doors) == ["a2", "a3"]
    doors += added(handshakes, "a5")
    assert dropped(doors) == ["a1+", "a2", "a3"]


def test_a_finished_handshake_frees_its_slot() -> None:
    handshakes: HandshakeTracker[Door] = HandshakeTracker(2, 1, Door.drop)
    (door,) = added(handshakes, "a1")
    handshakes.discard(door)
    handshakes.discard(door)
    assert dropped([door, *added(handshakes, "a2", "b1")]) == []


def test_a_trusted_proxy_connects_for_many() -> None:
    handshakes: HandshakeTracker[Door] = HandshakeTracker(3, 1, Door.drop)
    doors = [Door("p") for _ in range(3)]
    for door in doors:
        handshakes.add(door, None)
    assert dropped(doors) == []
