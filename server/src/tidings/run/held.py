"""What is opened when a process starts and closed when it stops, as a component."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import override

from tidings.platform.lifecycle.component import Component
from tidings.platform.lifecycle.health import Health

type OpenResource[T] = Callable[[], AbstractAsyncContextManager[T]]
type HealthCheck[T] = Callable[[T], Health | None]


class ManagedResource[T](Component):
    """`value` is there between start and stop. `look` asks it how it is."""

    def __init__(
        self,
        name: str,
        open_: OpenResource[T],
        *,
        look: HealthCheck[T] | None = None,
        gates_readiness: bool = True,
    ) -> None:
        self.name = name
        self.gates_readiness = gates_readiness
        self._open = open_
        self._check = look
        self._context: AbstractAsyncContextManager[T] | None = None
        self._value: T | None = None

    @property
    def value(self) -> T:
        if self._value is None:
            raise RuntimeError(f"{self.name} is used before it was started")
        return self._value

    @override
    async def start(self) -> None:
        context = self._open()
        self._value = await context.__aenter__()
        self._context = context

    @override
    async def stop(self) -> None:
        if self._context is not None:
            await self._context.__aexit__(None, None, None)

    @override
    def health(self) -> Health | None:
        return self._check(self.value) if self._check else None
