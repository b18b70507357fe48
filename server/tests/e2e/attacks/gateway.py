"""Attacks on the gateway, each from an address of its own on loopback. Standard library only: they start often."""

import json
import socket
import time
from collections import Counter
from collections.abc import Iterator

from e2e.attacks.rest import connect, is_closed

_UPGRADE = (
    b"GET /v1/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_PING, _CLOSE, _TEXT = 0x9, 0x8, 0x1
_LAST = 0x80
_ACCEPTED = 101
_SHORT_LENGTH, _TWO_BYTES = 125, 126
_PAUSE_S = 0.01
_FLOOD_FRAMES = 500
_SMALL_BUFFER = 4_096


class Wire:
    """One connection to the gateway; `status` is the answer to its upgrade."""

    def __init__(self, port: int, source: str, receive_bytes: int = 0) -> None:
        self.client = connect(port, source, receive_bytes)
        self.received = b""
        self.client.sendall(_UPGRADE)
        while b"\r\n\r\n" not in self.received and (piece := self.client.recv(65_536)):
            self.received += piece
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        self.status = int(head.split(b" ")[1]) if head else 0

    def say(self, **frame: object) -> None:
        body = json.dumps(frame).encode()
        self.client.sendall(frame_of(_LAST | _TEXT, body))

    def let_in(self, credential: str, device: str) -> None:
        """Connect, and read until the device is live."""
        self.say(id=1, connect={"credential": credential, "protocol": 1, "device": device})
        while True:
            self.received += self._more()
            if any(b'"resumed"' in body for _, body in self.frames()):
                return

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Remove the complete frames from the received bytes. Yield opcode and body of each."""
        while len(self.received) >= 2:
            length, at = self.received[1] & 0x7F, 2
            if length > _SHORT_LENGTH:
                at += 2 if length == _TWO_BYTES else 8
                length = int.from_bytes(self.received[2:at])
            if len(self.received) < at + length:
                return
            frame = self.received[0] & 0xF, self.received[at : at + length]
            self.received = self.received[at + length :]
            yield frame

    def ended(self) -> int | None:
        """Return the code with which the gateway closed it, 0 without a code, None if it is open."""
        self.client.settimeout(0)
        is_cut = False
        try:
            while piece := self.client.recv(65_536):
                self.received += piece
            is_cut = True
        except BlockingIOError:
            pass
        except OSError:
            is_cut = True
        codes = [int.from_bytes(body[:2]) for opcode, body in self.frames() if opcode == _CLOSE]
        return codes[0] if codes else 0 if is_cut else None

    def _more(self) -> bytes:
        piece = self.client.recv(65_536)
        if not piece:
            raise ConnectionError("the gateway closed the connection")
        return piece


def frame_of(first: int, body: bytes = b"") -> bytes:
    """Return a frame whose mask is zero, so that its body stays as it is."""
    if len(body) <= _SHORT_LENGTH:
        length = bytes([0x80 | len(body)])
    else:
        length = bytes([0x80 | _TWO_BYTES]) + len(body).to_bytes(2)
    return bytes([first]) + length + b"\0\0\0\0" + body


def slow_resumes(seconds: float, port: int, source: str, credentials: list[str], chat: str) -> list[int]:
    """Resume four devices of each user from the first entry on, and read 30 KB/s of each.

    Return for each user how many devices were sent anything.
    """
    per_user = [[Wire(port, source, _SMALL_BUFFER) for _ in range(4)] for _ in credentials]
    for credential, wires in zip(credentials, per_user, strict=True):
        for number, wire in enumerate(wires):
            wire.let_in(credential, f"slow-{number}")
    for wire in (wire for wires in per_user for wire in wires):
        wire.say(id=2, resume={"positions": {chat: 0}, "epoch": 0})
        wire.client.settimeout(0)
    ends_at = time.monotonic() + seconds
    served = set[Wire]()
    while time.monotonic() < ends_at:
        for wire in (wire for wires in per_user for wire in wires):
            try:
                if wire.client.recv(300):
                    served.add(wire)
            except BlockingIOError:
                continue
        time.sleep(_PAUSE_S)
    return [len(served.intersection(wires)) for wires in per_user]


def idle_handshakes(seconds: float, port: int, source: str, count: int) -> int:
    """Hold `count` silent connections, each renewed when it is cut; return how often one was."""
    ends_at, held, lost = time.monotonic() + seconds, list[socket.socket](), 0
    while time.monotonic() < ends_at:
        while len(held) < count:
            held.append(connect(port, source))
        for client in [*held]:
            if is_closed(client):
                client.close()
                held.remove(client)
                lost += 1
        time.sleep(_PAUSE_S)
    return lost


def upgrades(seconds: float, port: int, source: str) -> dict[int, int]:
    """Open WebSockets, hold them and never send `connect`; count the answers by status."""
    ends_at, held, statuses = time.monotonic() + seconds, list[Wire](), Counter[int]()
    while time.monotonic() < ends_at:
        wire = Wire(port, source)
        statuses[wire.status] += 1
        if wire.status == _ACCEPTED:
            held.append(wire)
        else:
            wire.client.close()
            time.sleep(_PAUSE_S)
    return dict(statuses)


def devices(seconds: float, port: int, source: str, credential: str) -> dict[str, int]:
    """Connect one new device of one user after the other. Count their connections by state at the end."""
    ends_at, held = time.monotonic() + seconds, list[Wire]()
    while time.monotonic() < ends_at:
        wire = Wire(port, source)
        if wire.status == _ACCEPTED:
            wire.let_in(credential, f"device-{len(held)}")
            held.append(wire)
        time.sleep(_PAUSE_S)
    return dict(Counter(str(wire.ended() or "open") for wire in held))


def pings(seconds: float, port: int, source: str) -> dict[int, int]:
    """Send pings before `connect`, on a new connection whenever one is closed; count by close code."""
    return _flood(seconds, port, source, frame_of(_LAST | _PING), "")


def empty_fragments(seconds: float, port: int, source: str, credential: str) -> dict[int, int]:
    """Send the empty fragments of one message without end, as a device that is live; count by close code."""
    return _flood(seconds, port, source, frame_of(0), credential)


def _flood(seconds: float, port: int, source: str, frame: bytes, credential: str) -> dict[int, int]:
    ends_at, ends, piece = time.monotonic() + seconds, Counter[int](), frame * _FLOOD_FRAMES
    while time.monotonic() < ends_at:
        wire = Wire(port, source)
        if wire.status != _ACCEPTED:
            time.sleep(_PAUSE_S)
            continue
        if credential:
            wire.let_in(credential, "flood")
            wire.client.sendall(frame_of(_TEXT))
        while (code := wire.ended()) is None and time.monotonic() < ends_at:
            _send_some(wire.client, piece)
        if code is not None:
            ends[code] += 1
        wire.client.close()
    return dict(ends)


def _send_some(client: socket.socket, piece: bytes) -> None:
    """Send whole frames, unless the gateway does not read."""
    client.settimeout(0.2)
    try:
        client.sendall(piece)
    except OSError:
        return  # the next read shows whether the connection was closed
