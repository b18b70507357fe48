"""Free ports, and who holds one that is not."""

import socket

import psutil

from tidings.kernel.errors import Code, TidingsError


class PortAllocator:
    """Hands out ports, each once, even if nobody listens on the earlier ones yet."""

    def __init__(self) -> None:
        self._given: set[int] = set()

    def take(self, wanted: int, for_whom: str) -> int:
        """The wanted port, which must be free; for 0 any free one."""
        port = _find_free(self._given) if wanted == 0 else wanted
        if not is_port_free(port) or port in self._given:
            holder = _holder(port)
            raise TidingsError(
                Code.ENGINE_PORT_TAKEN,
                f"Port {port}, wanted for {for_whom}, is taken{holder}.",
                hint=f"Free it, choose another, or set engines.{for_whom.partition('-')[0]}_port to 0 for any free one.",
                details={"port": port},
            )
        self._given.add(port)
        return port


def is_port_free(port: int) -> bool:
    # on all interfaces, because that is how DynamoDB Local binds
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("0.0.0.0", port))  # noqa: S104 - only to see whether it could be
        except OSError:
            return False
        return True


def _find_free(given: set[int]) -> int:
    while True:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port: int = sock.getsockname()[1]
        if port not in given and is_port_free(port):
            return port


def _holder(port: int) -> str:
    try:
        pid = next(
            c.pid
            for c in psutil.net_connections("tcp")
            if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port and c.pid
        )
        return f" by {psutil.Process(pid).name()} (process {pid})"
    except (StopIteration, psutil.Error):
        return ""
