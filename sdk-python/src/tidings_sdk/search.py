"""Search in messages. The server returns only messages that the user may read at that moment."""

from datetime import UTC, datetime
from typing import Any, final
from urllib.parse import urlencode

from msgspec import Struct, convert

from tidings_sdk.credentials import Credentials
from tidings_sdk.rest import RestApi


class FoundMessage(Struct, frozen=True):
    """A message as the REST API describes it. Fields that are not listed are left out."""

    id: str
    sequence: int
    sender: str
    created_at: str
    text: str | None = None
    data: dict[str, Any] | None = None
    attachments: list[str] = []


class Highlight(Struct, frozen=True):
    """A part of the text. The parts of a result form an extract around the first match."""

    text: str
    is_match: bool


class SearchResult(Struct, frozen=True):
    chat: str
    message: FoundMessage
    highlights: list[Highlight]


class SearchPage(Struct, frozen=True):
    """Messages that match, newest first. A page can be empty and have a `cursor`, which is None on the last page."""

    results: list[SearchResult]
    cursor: str | None = None


@final
class MessageSearch:
    """The search of a client. Get it with `client.search`."""

    def __init__(self, api: str, credentials: Credentials) -> None:
        self._rest = RestApi(api, credentials)

    async def find(
        self,
        text: str,
        *,
        chat: str | None = None,
        sender: str | None = None,
        before: datetime | None = None,
        after: datetime | None = None,
        has_attachment: bool = False,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> SearchPage:
        """Return a page of messages that have all words of `text`, in any order, newest first.

        `lun*` finds words that start with `lun`. `text` can be empty if `has_attachment` is set. `cursor`: of the page
        before, with the same query. Raises `RequestRefused`, with the code `search_off` if the tenant does not use
        search, and `RequestTimeout`.
        """
        given = {
            "q": text,
            "chat": chat,
            "from": sender,
            "before": _time(before),
            "after": _time(after),
            "has": "attachment" if has_attachment else None,
            "cursor": cursor,
            "limit": limit,
        }
        params = urlencode({name: value for name, value in given.items() if value})
        return convert(await self._rest.call("GET", f"/v1/search?{params}"), SearchPage)


def _time(at: datetime | None) -> str | None:
    return (
        None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
