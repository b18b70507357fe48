"""Which library carries the sockets: by its name in the settings. Only the chosen one is imported."""

from typing import Literal

from tidings.gateway.socket.listener import Library
from tidings.kernel.errors import Code, TidingsError

type LibraryName = Literal["picows", "websockets"]


def library(name: LibraryName, *, compresses: bool = False) -> Library:
    if name == "websockets":
        from tidings.gateway.socket.by_websockets import Websockets  # noqa: PLC0415 - as the docstring says

        return Websockets()
    if compresses:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "gateway.compression: picows does not compress",
            hint='Set gateway.socket_library to "websockets", or gateway.compression to "off".',
        )
    from tidings.gateway.socket.by_picows import Picows  # noqa: PLC0415 - as the docstring says

    return Picows()
