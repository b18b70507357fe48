"""The demo page's server refuses requests without the token of this start, for other hosts, and from other pages."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fixtures.loops import AsyncFixture

from tidings.dev.demo_faults import Fault, ServiceState
from tidings.dev.demo_server import DemoContent, DemoServer
from tidings.kernel.errors import Code, TidingsError

CONTENT = DemoContent(
    urls={
        "api": "http://127.0.0.1:1",
        "gateway": "ws://127.0.0.1:2/v1/socket",
        "media": "http://127.0.0.1:3",
    },
    chats={"direct": "d1", "group": "g1"},
    server_key="server-key",
    tokens={"anna": "token-of-anna"},
)


class RecordedFaults:
    """Record faults instead of injecting them. `e2e` and `browser-tests` inject them into an installation."""

    def __init__(self) -> None:
        self.injected: list[Fault] = []

    async def inject(self, fault: Fault) -> None:
        if fault is Fault.EMPTY_REDIS:
            raise TidingsError(Code.ENGINES_BUSY, "Redis is not ours.", hint="Stop it.")
        self.injected.append(fault)

    async def status(self) -> dict[str, ServiceState]:
        return {"gateway": ServiceState.RUNNING}


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    port: int
    token: str
    faults: RecordedFaults

    async def ask(self, method: str, path: str, *, host: str | None = None, **headers: str) -> Answer:
        """Send a request as a page of the demo does, unless a header is given. An empty header is left out."""
        own = f"127.0.0.1:{self.port}"
        usual = {"Host": host or own, "Origin": f"http://{own}", "Authorization": f"Bearer {self.token}"}
        sent = {name: value for name, value in (usual | headers).items() if value}
        return await asyncio.to_thread(self._ask, method, path, sent)

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


@pytest.fixture
def served(tmp_path: Path) -> AsyncFixture[Served]:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Tidings demo</title>")
    (tmp_path / "assets" / "page.js").write_text("1")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Served]:
        faults = RecordedFaults()
        server = DemoServer(CONTENT, faults, tmp_path)
        port = await server.start(0)
        yield Served(port, server.address(port).partition("#")[2], faults)
        await server.close()

    return AsyncFixture(opened)


async def test_the_page_gets_addresses_tokens_and_status(served: Served) -> None:
    session = (await served.ask("GET", "/demo/session", Origin="")).json
    assert session["gateway"] == "ws://127.0.0.1:2/v1/socket"
    assert [user["id"] for user in session["users"]] == ["anna", "ben", "cleo"]
    assert "server-key" not in json.dumps(session)
    assert session["search"] is False, "the API does not answer"
    assert (await served.ask("GET", "/demo/token?user=anna")).json == {"token": "token-of-anna"}
    assert (await served.ask("GET", "/demo/token?user=eve")).status == 404
    assert (await served.ask("GET", "/demo/status")).json == {"gateway": "running"}


async def test_a_fault_is_injected(served: Served) -> None:
    assert (await served.ask("POST", "/demo/faults/kill-gateway")).status == 200
    assert served.faults.injected == [Fault.KILL_GATEWAY]
    assert (await served.ask("POST", "/demo/faults/drop-tables")).status == 404
    refused = await served.ask("POST", "/demo/faults/empty-redis")
    assert (refused.status, refused.json["detail"]) == (409, "Redis is not ours. Stop it.")


@pytest.mark.parametrize("path", ["/demo/session", "/demo/token?user=anna", "/demo/status"])
@pytest.mark.parametrize("token", ["", "Bearer wrong", "Basic x", "Bearer ", "Bearer é"])
async def test_a_request_without_the_token_is_refused(served: Served, path: str, token: str) -> None:
    assert (await served.ask("GET", path, Authorization=token)).status == 401


async def test_a_fault_without_the_token_is_refused(served: Served) -> None:
    assert (await served.ask("POST", "/demo/faults/kill-gateway", Authorization="")).status == 401
    assert served.faults.injected == []


@pytest.mark.parametrize("path", ["/", "/assets/page.js", "/demo/session", "/demo/faults/kill-gateway"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1"])
async def test_a_request_for_another_host_is_refused(served: Served, path: str, host: str) -> None:
    """A name of another site may resolve to this machine (DNS rebinding); its page would then be same-origin."""
    name = host.format(port=served.port)
    method = "POST" if "faults" in path else "GET"
    assert (await served.ask(method, path, host=name, Origin=f"http://{name}")).status in (403, 421)
    assert (await served.ask(method, path, host=name)).status == 421
    assert served.faults.injected == []


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_request_from_another_page_is_refused(served: Served, origin: str) -> None:
    assert (await served.ask("POST", "/demo/faults/kill-gateway", Origin=origin)).status == 403
    assert (await served.ask("GET", "/demo/session", Origin=origin)).status == 403
    assert served.faults.injected == []


async def test_a_request_with_an_effect_needs_an_origin(served: Served) -> None:
    assert (await served.ask("POST", "/demo/faults/kill-gateway", Origin="")).status == 403
    assert served.faults.injected == []


async def test_localhost_is_this_host_too(served: Served) -> None:
    own = f"localhost:{served.port}"
    assert (await served.ask("GET", "/demo/status", host=own, Origin=f"http://{own}")).status == 200


async def test_the_page_may_connect_to_gateway_api_and_bucket_only(served: Served) -> None:
    page = await served.ask("GET", "/", Authorization="", Origin="")
    assert (page.status, page.headers["Cache-Control"]) == (200, "no-store")
    policy = page.headers["Content-Security-Policy"]
    assert "connect-src 'self' ws://127.0.0.1:2 http://127.0.0.1:1 http://127.0.0.1:3;" in policy
    assert "img-src 'self' data: blob: http://127.0.0.1:3;" in policy
    assert "frame-ancestors 'none'" in policy
    asset = await served.ask("GET", "/assets/page.js", Authorization="", Origin="")
    assert (asset.status, asset.body) == (200, b"1")
    assert "immutable" in asset.headers["Cache-Control"]


async def test_each_start_has_another_token_and_a_taken_port_is_replaced(
    served: Served, tmp_path: Path
) -> None:
    other = DemoServer(CONTENT, RecordedFaults(), tmp_path)
    port = await other.start(served.port)
    try:
        assert port != served.port
        assert other.address(port).partition("#")[2] != served.token
    finally:
        await other.close()


async def test_pages_from_vite_are_accepted_while_it_runs(tmp_path: Path) -> None:
    server = DemoServer(CONTENT, RecordedFaults(), tmp_path)
    port = await server.start(0)
    address = server.address(port, "http://127.0.0.1:5173")
    try:
        assert address.startswith("http://127.0.0.1:5173/#")
        page = Served(port, address.partition("#")[2], RecordedFaults())
        assert (await page.ask("GET", "/demo/status", Origin="http://127.0.0.1:5173")).status == 200
        assert (await page.ask("GET", "/demo/status", Origin="http://127.0.0.1:5174")).status == 403
    finally:
        await server.close()
