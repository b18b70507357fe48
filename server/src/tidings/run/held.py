"""What is opened when a process starts and closed when it stops, as a component."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import override

from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health

type Open[T] = Callable[[], AbstractAsyncContextManager[T]]
type Look[T] = Callable[[T], Health | None]


class Held[T](Component):
    """`it` is there between start and stop. `look` asks it how it is."""

    def __init__(
        self, name: str, open_: Open[T], *, look: Look[T] | None = None, gates_readiness: bool = True
    ) -> None:
        self.name = name
        self.gates_readiness = gates_readiness
        self._open = open_
        self._look = look
        self._context: AbstractAsyncContextManager[T] | None = None
        self._it: T | None = None

    @property
    def it(self) -> T:
        if self._it is None:
            raise RuntimeError(f"{self.name} is used before it was started")
        return self._it

    @override
    async def start(self) -> None:
        context = self._open()
        self._it = await context.__aenter__()
        self._context = context

    @override
    async def stop(self) -> None:
        if self._context is not None:
            await self._context.__aexit__(None, None, None)

    @override
    def health(self) -> Health | None:
        return self._look(self.it) if self._look else None
