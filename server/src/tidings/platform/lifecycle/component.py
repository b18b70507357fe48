"""A part of a process that is started and stopped: a client, a server, a loop."""

from abc import ABC, abstractmethod

from tidings.platform.lifecycle.health import Health


class Component(ABC):
    """Declared after what it needs; stopped before it.

    `start` cleans up after itself when it fails or is cancelled: `stop` is only called after a `start` that
    returned. An engine that is away is no reason to fail in `start`: be unwell until it is back.
    """

    name: str
    start_s: float = 30.0
    stop_s: float = 10.0
    gates_readiness: bool = True

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...

    def health(self) -> Health | None:
        """None: well as long as it is started. Called a few times a second on the loop: must only look."""
        return None
