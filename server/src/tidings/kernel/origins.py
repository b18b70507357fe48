"""Origins of web pages that may call an API: exact ones, and any port of the own machine."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

_EXACT = re.compile(r"https?://[^\s/?#*]+")
_ANY_PORT = re.compile(r"(https?://(?:localhost|127\.0\.0\.1|\[::1\])):\*")

LOCAL: Final = "http://localhost:*,http://127.0.0.1:*"
"""Every page that this machine serves, whatever its port: what a developer's own pages need."""


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    exact: frozenset[str] = frozenset()
    any_port: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Iterable[str]) -> Self:
        """Raises `ValueError`. `http://localhost:*` allows every port, and only names of the own machine may do so."""
        exact, any_port = set[str](), set[str]()
        for origin in given:
            if wild := _ANY_PORT.fullmatch(origin):
                any_port.add(wild[1])
            elif _EXACT.fullmatch(origin):
                exact.add(origin)
            else:
                raise ValueError(
                    f"{origin!r} is not an origin. Write it as browsers send it (https://app.example), or "
                    "http://localhost:* or http://127.0.0.1:* for every port of this machine."
                )
        return cls(frozenset(exact), frozenset(any_port))

    def __bool__(self) -> bool:
        return bool(self.exact or self.any_port)

    def allow(self, origin: str) -> bool:
        if origin in self.exact or origin in self.any_port:
            return True
        host, _, port = origin.rpartition(":")
        return host in self.any_port and port.isascii() and port.isdecimal()


NO_ORIGINS: Final = AllowedOrigins()
