"""Measure the CPU of one request in the REST edge: FastAPI and Tidings, with use cases that answer from memory."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from bench.report import Spread, print_figures, print_table
from tidings.accounts.model import Principal
from tidings.api.app import make_app
from tidings.api.services import ApiLimits, ApiOptions, ApiServices, ApiTelemetry
from tidings.chats.model import Chat, ChatType, Membership, Role
from tidings.chats.queries import ChatView
from tidings.delivery.watermarks import WatermarkResult
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, MessageId, TenantId, UserId
from tidings.kernel.security import Secret
from tidings.messages.history import ContentState, HistorySlice, VisibleEntry
from tidings.messages.model import Entry, EntryKind, Interval
from tidings.messages.sender import Content, SendResult

CHAT, ANNA = ChatKey(TenantId("acme"), ChatId("gLAJWK6M7H3QFQ3PWXCZ5GZQD")), UserId("anna")
HEADERS = [(b"authorization", b"Bearer x"), (b"host", b"api"), (b"content-type", b"application/json")]
SENT = b'{"text": "Hello, how are you doing today?", "client_message_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD", "after": 6}'


def canned() -> ApiServices:
    """Use cases with prepared answers."""
    principal = Principal(tenant=CHAT.tenant, user=ANNA)
    page = HistorySlice(tuple(message(n) for n in range(20)), 0, 20, has_older=True, has_newer=False)
    own = Membership(user=ANNA, role=Role.OWNER, intervals=(Interval(0),))
    chat = Chat(key=CHAT, type=ChatType.GROUP, created_by=ANNA, member_count=3, name="us")
    sent = SendResult(MessageId(f"{CHAT.chat}.7"), 7, is_repeat=False)
    made = SimpleNamespace(
        credentials=SimpleNamespace(verify=returning(principal)),
        queries=SimpleNamespace(chat=returning(ChatView(chat, own, 0))),
        chat_list=SimpleNamespace(one=returning(None)),
        marking=SimpleNamespace(read=returning(WatermarkResult(7, 0))),
        history=SimpleNamespace(before=returning(page), one=returning(message(7))),
        statuses=SimpleNamespace(of=returning([])),
        sender=SimpleNamespace(send=returning(sent)),
        limits=ApiLimits(),
        telemetry=ApiTelemetry(),
    )
    return cast("ApiServices", made)


def returning(value: object) -> Callable[..., Awaitable[Any]]:
    async def answer(*_: object, **__: object) -> object:
        return value

    return answer


def message(sequence: int) -> VisibleEntry:
    entry = Entry(
        sequence=sequence + 1,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=ANNA,
        client_key=ClientKey("01JCQ4Z7N3V5X9B2M8K6T1R0WD"),
        fingerprint=b"",
        created_at_ms=1_763_000_000_000 + sequence * 977,
    )
    return VisibleEntry(entry, ContentState.ACTIVE, Content(text="Hello, how are you doing today?"))


REQUESTS = {
    "get_chat": ("GET", f"/v1/chats/{CHAT.chat}", b"", b""),
    "get_message": ("GET", f"/v1/messages/{CHAT.chat}.7", b"", b""),
    "list_messages of 20": ("GET", f"/v1/chats/{CHAT.chat}/messages", b"limit=20", b""),
    "send_message": ("POST", f"/v1/chats/{CHAT.chat}/messages", b"", SENT),
    "mark_read": ("PUT", f"/v1/chats/{CHAT.chat}/read", b"", b'{"sequence": 7}'),
}


async def call(app: Any, method: str, path: str, query: bytes, body: bytes) -> int:  # noqa: ANN401 - any ASGI app
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": HEADERS,
        "client": ("127.0.0.1", 1),
        "server": ("api", 80),
    }
    answered: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(part: Any) -> None:  # noqa: ANN401 - any ASGI message
        answered.append(part)

    await app(scope, receive, send)
    status: int = answered[0]["status"]
    return status


async def cpu_us(app: Any, request: tuple[str, str, bytes, bytes], requests: int) -> float:  # noqa: ANN401 - any ASGI app
    if await call(app, *request) not in {200, 201}:
        raise RuntimeError(f"The API rejected {request}.")
    start = time.process_time()
    for _ in range(requests):
        await call(app, *request)
    return (time.process_time() - start) / requests * 1e6


async def measure(given: argparse.Namespace) -> dict[str, Spread]:
    app = make_app(canned(), ApiOptions(cursor_secrets=(Secret("secret of the benchmark"),)))
    runs: dict[str, list[float]] = {name: [] for name in REQUESTS}
    for _ in range(given.rounds):
        for name, request in REQUESTS.items():
            runs[name].append(await cpu_us(app, request, given.requests))
    return {name: Spread(tuple(each)) for name, each in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    found = asyncio.run(measure(parser.parse_args()))
    print_table(("request", "µs of CPU"), found.items())
    print_figures({name: spread.median for name, spread in found.items()})


if __name__ == "__main__":
    main()
