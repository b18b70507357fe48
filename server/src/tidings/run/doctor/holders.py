"""Who listens on a port of this machine."""

import re
import socket
from dataclasses import dataclass

_OURS = re.compile(r"tidings.* run \w+$")


@dataclass(frozen=True, slots=True)
class PortHolder:
    """Without a `pid`: somebody else's process, of which the system tells nothing."""

    pid: int | None = None
    command: str = ""

    @property
    def text(self) -> str:
        """To stand after "is taken"."""
        return f" by `{self.command}` (process {self.pid})" if self.pid else " by a process of somebody else"

    @property
    def is_ours(self) -> bool:
        return _OURS.search(self.command) is not None


def find_port_holder(port: int) -> PortHolder | None:
    """None: the port is free."""
    if _is_free(port):
        return None
    try:
        import psutil  # noqa: PLC0415 - not there in every installation
    except ModuleNotFoundError:
        return PortHolder()
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port and found.pid:
                return PortHolder(found.pid, " ".join(psutil.Process(found.pid).cmdline()))
    except psutil.Error:
        pass  # it ended meanwhile, or this system lets only root look
    return PortHolder()


def _is_free(port: int) -> bool:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
