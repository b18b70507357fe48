"""Open the demo page for a running installation: its server and, in a checkout, Vite's development server."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tidings.dev.console import DevConsole
from tidings.dev.demo_server import DemoServer, is_page_built
from tidings.engines.node_plan import PortAllocator
from tidings.engines.process import is_port_open
from tidings.kernel.errors import Code, TidingsError

CHECKOUT = Path(__file__).parents[4]
_VITE = "demo"
_POLL_S = 0.1


class DemoPage:
    def __init__(self, server: DemoServer, console: DevConsole, *, uses_vite: bool) -> None:
        self.server = server
        self._console = console
        self._uses_vite = uses_vite
        self._vite: asyncio.subprocess.Process | None = None

    async def open(self) -> str | None:
        """Serve the page and return its address, or None if this checkout has not built it."""
        if not self._uses_vite and not is_page_built():
            self._console.info("the demo page is not built: run `just setup`", "yellow")
            return None
        port = await self.server.start()
        return self.server.address(port, await self._start_vite(port) if self._uses_vite else None)

    async def close(self) -> None:
        if self._vite is not None and self._vite.returncode is None:
            os.killpg(self._vite.pid, signal.SIGTERM)
            await self._vite.wait()
        await self.server.close()

    async def _start_vite(self, server_port: int) -> str:
        """Start Vite's development server, which forwards requests for `/demo` to the server of the page. Return its origin."""
        require_checkout()
        port = PortAllocator().take(0, "vite")
        self._vite = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tools.node", "vite", _VITE),
            *("--host", "127.0.0.1", "--port", str(port), "--strictPort"),
            stdin=asyncio.subprocess.DEVNULL,
            cwd=CHECKOUT,
            env={**os.environ, "TIDINGS_DEMO_SERVER": f"http://127.0.0.1:{server_port}"},
            start_new_session=True,
        )
        while not await asyncio.to_thread(is_port_open, "127.0.0.1", port):
            if self._vite.returncode is not None:
                raise TidingsError(
                    Code.INTERNAL,
                    f"Vite ended with exit code {self._vite.returncode} before it was ready.",
                    hint="Run `just web install`, and read Vite's output above.",
                )
            await asyncio.sleep(_POLL_S)
        return f"http://127.0.0.1:{port}"


def require_checkout() -> None:
    """Raise an error if the page's sources are not here: an installed package has only the built page."""
    if not (CHECKOUT / _VITE / "package.json").exists():
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "--web-dev needs a checkout of Tidings: this package has the built page only.",
            hint="Run `tidings dev` without --web-dev.",
        )
