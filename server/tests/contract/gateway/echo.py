"""An echo server on the transport, as a process, for Autobahn and benchmarks. Its first output line is its port."""

import argparse
import asyncio
import signal
import sys
import traceback

from tidings.gateway.transport.listener import WebSocketListener
from tidings.gateway.transport.ports import (
    ListenOptions,
    Socket,
    SocketCloseCode,
    UpgradeRequest,
    UpgradeRules,
)
from tidings.gateway.transport.websockets_transport import load_backend


class Echo:
    def __init__(self, socket: Socket, _: UpgradeRequest) -> None:
        self._socket = socket

    def on_message(self, data: bytes) -> None:
        self._socket.send(data)

    def on_part(self) -> None:
        pass

    def on_close(self, code: int) -> None:
        pass


async def serve(name: str, max_message_bytes: int, *, compresses: bool) -> None:
    options = ListenOptions(
        rules=UpgradeRules(path="/"),
        max_message_bytes=max_message_bytes,
        max_send_buffer_bytes=4 * max_message_bytes,
        compresses=compresses,
    )
    carried_by = load_backend("websockets" if name == "websockets" else "picows", compresses=compresses)
    listener = WebSocketListener(carried_by, options, Echo, on_error=_report)
    await listener.start()
    sys.stdout.write(f"{listener.port}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await listener.close(SocketCloseCode.GOING_AWAY)


def _report(what: str, error: BaseException) -> None:
    sys.stderr.write(what + "\n")
    traceback.print_exception(error)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("library", choices=["picows", "websockets"])
    options.add_argument("--max-message-bytes", type=int, default=65_536)
    options.add_argument("--compresses", action="store_true")
    given = options.parse_args()
    asyncio.run(serve(given.library, given.max_message_bytes, compresses=given.compresses))


if __name__ == "__main__":
    main()
