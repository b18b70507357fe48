"""Which library carries the sockets: by its name in the settings. Only the chosen one is imported."""

from typing import Literal

from tidings.gateway.socket.listener import TransportBackend
from tidings.kernel.errors import Code, TidingsError

type BackendName = Literal["picows", "websockets"]


def load_backend(name: BackendName, *, compresses: bool = False) -> TransportBackend:
    if name == "websockets":
        from tidings.gateway.socket.by_websockets import WebsocketsBackend  # noqa: PLC0415 - as the docstring says

        return WebsocketsBackend()
    if compresses:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "gateway.compression: picows does not compress",
            hint='Set gateway.socket_library to "websockets", or gateway.compression to "off".',
        )
    from tidings.gateway.socket.by_picows import PicowsBackend  # noqa: PLC0415 - as the docstring says

    return PicowsBackend()
