"""The listening TCP socket, with the options that accepted ones inherit from it; and the accepting itself."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import final

from tidings.gateway.socket.options import TcpOptions

_ACCEPTS_PER_TURN = 64
_NO_MORE = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_RETRY_S = 0.5


def open_listening_socket(host: str, port: int, options: TcpOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_both = host == "::" and socket.has_dualstack_ipv6()
    made = socket.create_server(
        (host, port),
        family=family,
        backlog=options.backlog,
        reuse_port=options.shares_port,
        dualstack_ipv6=is_both,
    )
    made.setblocking(False)  # noqa: FBT003 - the standard library's signature
    _set(made, options)
    return made


def _set(made: socket.socket, options: TcpOptions) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wanted = {
        "TCP_NODELAY": 1,
        "TCP_KEEPIDLE": options.keepalive_idle_s,
        "TCP_KEEPINTVL": options.keepalive_every_s,
        "TCP_KEEPCNT": options.keepalive_probes,
        # A peer that takes nothing for so long is gone, whatever its window says.
        "TCP_USER_TIMEOUT": options.unacknowledged_s * 1_000,
    }
    for name, value in wanted.items():
        if (option := getattr(socket, name, None)) is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)


@final
class Acceptor:
    """Accept connections and pass them on with the address of their peer."""

    def __init__(self, sock: socket.socket, take: Callable[[socket.socket, str], None]) -> None:
        self._sock = sock
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._is_paused = True
        self.resume()

    def resume(self) -> None:
        if self._is_open and self._is_paused:
            self._is_paused = False
            self._loop.add_reader(self._sock, self._ready)

    def pause(self) -> None:
        self._is_paused = True
        self._loop.remove_reader(self._sock)

    def close(self) -> None:
        if self._is_open:
            self.pause()
            self._is_open = False
            self._sock.close()

    def _ready(self) -> None:
        """A bounded number, so that a storm of connections leaves the loop to those who are in."""
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                accepted, address = self._sock.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                self._pause(error)
                return
            accepted.setblocking(False)  # noqa: FBT003 - as above
            self._take(accepted, str(address[0]))

    def _pause(self, error: OSError) -> None:
        """Out of file descriptors: the socket stays readable, so look away for a while instead of spinning."""
        if error.errno not in _NO_MORE:
            raise error
        self.pause()
        self._loop.call_later(_RETRY_S, self.resume)
