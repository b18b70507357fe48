"""Who listens on a port of this machine."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int | None = None
    command: str = ""

    @property
    def words(self) -> str:
        """To stand after "is taken"."""
        return f" by {self.command} (process {self.pid})" if self.pid else " by a process of somebody else"

    @property
    def is_ours(self) -> bool:
        return "tidings" in self.command


def holder_of(port: int) -> Holder:
    """Of other users' processes the system tells nothing."""
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port and found.pid:
                return Holder(found.pid, _command(psutil.Process(found.pid)))
    except psutil.Error:
        pass  # it ended meanwhile, or this system lets only root look
    return Holder()


def _command(process: psutil.Process) -> str:
    words = process.cmdline() or [process.name()]
    return " ".join(words[:6])[:120]
