"""`tidings docs` serves the files of the site: directories, compressed text, Markdown, and a page for unknown paths."""

import gzip
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tidings.cli import docs


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a small site and return its address."""
    (tmp_path / "1.0" / "guide").mkdir(parents=True)
    (tmp_path / "index.html").write_text("root")
    (tmp_path / "1.0" / "404.html").write_text("no such page")
    (tmp_path / "1.0" / "guide" / "index.html").write_text("a guide")
    (tmp_path / "1.0" / "guide.md").write_text("# A guide")
    (tmp_path.parent / "secret.txt").write_text("not part of the site")
    monkeypatch.setattr(docs, "SITE", tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), docs.SiteHandler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def get(url: str, **headers: str) -> tuple[bytes, str, str]:
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read(), answer.headers["Content-Type"], answer.url


def test_a_directory_is_served_by_its_index(address: str) -> None:
    assert get(f"{address}/") == (b"root", "text/html; charset=utf-8", f"{address}/")
    body, _, url = get(f"{address}/1.0/guide")
    assert (body, url) == (b"a guide", f"{address}/1.0/guide/")


def test_the_markdown_of_a_page_is_next_to_it(address: str) -> None:
    assert get(f"{address}/1.0/guide.md")[:2] == (b"# A guide", "text/markdown; charset=utf-8")


def test_text_is_compressed_for_clients_that_accept_it(address: str) -> None:
    body, _, _ = get(f"{address}/1.0/guide/", **{"Accept-Encoding": "gzip"})
    assert gzip.decompress(body) == b"a guide"


@pytest.mark.parametrize(
    "path", ["/nothing", "/../secret.txt", "/%2e%2e/secret.txt", "/1.0/..%2f..%2fsecret.txt"]
)
def test_other_paths_get_the_page_for_unknown_paths(address: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        get(f"{address}{path}")
    assert raised.value.code == 404
    assert raised.value.read() == b"no such page"


def test_a_port_in_use_is_an_error_that_names_the_option(address: str) -> None:
    result = CliRunner().invoke(docs.group, ["--port", address.rpartition(":")[2]])
    assert result.exit_code == 1
    assert "Address already in use. Set --port." in result.output


def test_a_package_without_the_site_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "SITE", tmp_path / "site")
    monkeypatch.setattr(docs, "CHECKOUT", tmp_path)
    result = CliRunner().invoke(docs.group, [], standalone_mode=False)
    assert isinstance(result.exception, click.ClickException)
    assert "without the documentation" in result.exception.message
