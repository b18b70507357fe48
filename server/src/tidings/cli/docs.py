"""`tidings docs`: serve the documentation that is part of the package."""

import gzip
import os
import subprocess
import sys
from functools import cache
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, override

import click

from tidings.cli.output import echo

SITE: Final = Path(__file__).parent / "build" / "docs"
CHECKOUT: Final = Path(__file__).parents[4]
_COMPRESSED: Final = ("text/", "application/json", "application/javascript", "image/svg+xml")

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "application/javascript",
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


@click.command()
@click.option(
    "--port", default=8088, show_default=True, type=click.IntRange(0, 65535), help="0: any free port."
)
def group(port: int) -> None:
    """Serve this documentation on this machine, until Ctrl-C."""
    _ensure_built()
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), SiteHandler)
    except OSError as error:
        raise click.ClickException(
            f"Cannot listen on 127.0.0.1:{port}: {error.strerror}. Set --port."
        ) from None
    with server:
        echo(f"http://127.0.0.1:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _ensure_built() -> None:
    """Build the site in a checkout. An installed package has it."""
    if (SITE / "index.html").exists():
        return
    if not (CHECKOUT / "mkdocs.yml").exists():
        raise click.ClickException("This package was built without the documentation.")
    echo("Building the documentation …")
    subprocess.run([sys.executable, "-m", "tools.docs_site", "build"], cwd=CHECKOUT, check=True)


class SiteHandler(SimpleHTTPRequestHandler):
    """Serve the files of the site, text compressed."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args: object) -> None:
        super().__init__(*args, directory=str(SITE))  # type: ignore[arg-type]  # the arguments of the server

    @override
    def guess_type(self, path: str | os.PathLike[str]) -> str:
        return _TYPES.get(Path(path).suffix) or super().guess_type(path)

    @override
    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.is_dir() and not self.path.partition("?")[0].endswith("/"):
            self._redirect()
            return
        file = path / "index.html" if path.is_dir() else path
        if file.is_file():
            self._answer(HTTPStatus.OK, file)
        else:
            missing = max(SITE.glob("*/404.html"))
            self._answer(HTTPStatus.NOT_FOUND, missing)

    def _redirect(self) -> None:
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", f"{self.path.partition('?')[0]}/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _answer(self, status: HTTPStatus, file: Path) -> None:
        kind = self.guess_type(str(file))
        is_compressed = kind.startswith(_COMPRESSED) and "gzip" in self.headers.get("Accept-Encoding", "")
        body = _compressed(file, file.stat().st_mtime_ns) if is_compressed else file.read_bytes()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Vary", "Accept-Encoding")
        if is_compressed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal shows the address only."""


@cache
def _compressed(file: Path, _changed_ns: int) -> bytes:
    return gzip.compress(file.read_bytes())
