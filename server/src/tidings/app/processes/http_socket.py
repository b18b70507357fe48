"""The socket of an HTTP server: the API, or the console."""

import socket

from tidings.app.settings import Settings
from tidings.kernel.errors import Code, TidingsError

BACKLOG = 2_048


def open_http_socket(settings: Settings, section: str = "api") -> socket.socket:
    api = settings.api
    family = socket.AF_INET6 if ":" in api.host else socket.AF_INET
    try:
        made = socket.create_server(
            (api.host, api.port), family=family, backlog=BACKLOG, reuse_port=api.reuse_port
        )
    except OSError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            f"Cannot listen on {api.host}:{api.port}: {error.strerror}. "
            f"Set `{section}.port` or TIDINGS_{section.upper()}_PORT.",
        ) from error
    made.setblocking(False)  # noqa: FBT003 - the standard library takes it so
    return made
