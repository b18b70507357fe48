"""The requests of a search, and their errors."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

import pytest
from scripted_api import ScriptedApi, run_scripted_api

from tidings_sdk import (
    Client,
    FoundMessage,
    Highlight,
    MessageSearch,
    RequestRefused,
    SearchPage,
    SearchResult,
)
from tidings_sdk.credentials import Credentials

MESSAGE = {
    "id": "g1.7",
    "sequence": 7,
    "kind": "message",
    "sender": "ben",
    "created_at": "2026-11-15T02:11:21.957Z",
    "text": "Lunch?",
}
PAGE = {
    "results": [
        {"chat": "g1", "message": MESSAGE, "highlights": [{"text": "Lunch", "is_match": True}]},
    ],
    "cursor": "next",
}


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with run_scripted_api() as scripted:
        scripted.body = PAGE
        yield scripted


async def test_a_query_has_only_the_parameters_that_were_given(api: ScriptedApi) -> None:
    search = MessageSearch(api.url, Credentials("anna"))
    page = await search.find("crème & fri*")
    found = FoundMessage(
        id="g1.7", sequence=7, sender="ben", created_at="2026-11-15T02:11:21.957Z", text="Lunch?"
    )
    assert page == SearchPage([SearchResult("g1", found, [Highlight("Lunch", is_match=True)])], "next")
    zone = timezone(timedelta(hours=1))
    await search.find(
        "",
        chat="g1",
        sender="ben",
        before=datetime(2026, 11, 18, tzinfo=UTC),
        after=datetime(2026, 11, 18, tzinfo=zone),
        has_attachment=True,
        cursor="next",
        limit=5,
    )
    first, second = (parse_qs(urlsplit(path).query) for path in api.paths)
    assert first == {"q": ["crème & fri*"]}
    assert {name: value for name, [value] in second.items()} == {
        "chat": "g1",
        "from": "ben",
        "before": "2026-11-18T00:00:00.000Z",
        "after": "2026-11-17T23:00:00.000Z",
        "has": "attachment",
        "cursor": "next",
        "limit": "5",
    }


async def test_a_tenant_without_search_is_refused(api: ScriptedApi) -> None:
    api.status, api.body = 403, {"code": "search_off", "detail": "Search is off for this tenant."}
    with pytest.raises(RequestRefused, match="search_off"):
        await MessageSearch(api.url, Credentials("anna")).find("lunch")


def test_a_client_without_the_address_of_the_api_has_no_search() -> None:
    with pytest.raises(ValueError, match="api"):
        _ = Client("ws://127.0.0.1:1", "anna").search
