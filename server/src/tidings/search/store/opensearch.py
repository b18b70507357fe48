"""The index in OpenSearch, for installations on several machines. Any number of processes write and read it.

A document is written with an external version, so an older state never replaces a newer one. The removal of a message
leaves an empty document for an hour, which has its version.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import msgspec
from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.kernel.security import Secret
from tidings.search import rules
from tidings.search.model import Candidate, CandidateRequest, IndexChange
from tidings.search.store import opensearch_schema as schema

_MAX_TIED: Final = 1_000
_MAX_CONCURRENT_SEARCHES: Final = 8
_MAX_TENANTS: Final = 10_000
_MAX_TRIES: Final = 5
_PURGE_S: Final = 3_600.0
_LEASES_S: Final = 120.0
_POLL_S: Final = 1.0
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSearchOptions:
    """prefix: before the name of the index. shards: when the index is created."""

    url: str
    username: str | None = None
    password: Secret | None = None
    prefix: str = "tidings-"
    shards: int = 1
    timeout_s: float = 10.0


@asynccontextmanager
async def open_opensearch(options: OpenSearchOptions, clock: Clock) -> AsyncIterator["OpenSearchIndex"]:
    """Open the index. It is created at the first write."""
    auth = (
        aiohttp.BasicAuth(options.username, options.password.reveal())
        if options.username is not None and options.password is not None
        else None
    )
    timeout = aiohttp.ClientTimeout(total=options.timeout_s)
    async with aiohttp.ClientSession(auth=auth, timeout=timeout) as session:
        yield OpenSearchIndex(session, options, clock)


class OpenSearchIndex:
    def __init__(self, session: aiohttp.ClientSession, options: OpenSearchOptions, clock: Clock) -> None:
        self._session = session
        self._options = options
        self._clock = clock
        self._url = f"{options.url.rstrip('/')}/{options.prefix}messages-{schema.FORMAT}"
        self._is_created = False

    async def find(self, request: CandidateRequest) -> Sequence[Candidate]:
        filters = schema.filters(request)
        found = await self._search_readable(request, filters, request.limit + 1)
        if not rules.is_cut_in_a_tie(found, request.limit):
            return found[: request.limit]
        last = found[request.limit].order
        tied = await self._search_readable(
            request, [*filters, {"range": {"order": {"gte": last, "lte": last}}}], _MAX_TIED
        )
        return [each for each in found if each.order > last] + tied

    async def _search_readable(
        self, request: CandidateRequest, filters: list[Any], limit: int
    ) -> list[Candidate]:
        """Search inside the intervals of the request, and sort by order."""
        parts = await gather_limited(
            (
                self._search(request.tenant, [*filters, inside], limit)
                for inside in schema.readable(request.chats)
            ),
            _MAX_CONCURRENT_SEARCHES,
        )
        return sorted((each for part in parts for each in part), key=lambda each: each.order, reverse=True)

    async def _search(self, tenant: TenantId, filters: list[Any], limit: int) -> list[Candidate]:
        body = {
            "query": {"bool": {"filter": filters}},
            "sort": [{"order": "desc"}],
            "size": limit,
            "track_total_hits": False,
        }
        status, answer = await self._send("POST", "/_search", _encode(body), {"routing": tenant})
        if status == HTTPStatus.NOT_FOUND:
            return []
        _require(status, answer, Code.OVERLOADED)
        if answer["timed_out"] or answer["_shards"]["failed"]:
            raise TidingsError(Code.OVERLOADED, "OpenSearch answered without some of its shards.")
        return [
            Candidate(schema.ref_from_key(hit["_id"]), int(hit["sort"][0])) for hit in answer["hits"]["hits"]
        ]

    async def apply(self, changes: Sequence[IndexChange]) -> None:
        if not changes:
            return
        await self._create()
        now_ms = self._clock.now_ms()
        body = b"".join(
            _encode(line) + b"\n" for change in changes for line in schema.bulk_lines(change, now_ms)
        )
        status, answer = await self._send("POST", "/_bulk", body, {}, content_type="application/x-ndjson")
        _require(status, answer, Code.OUTCOME_UNKNOWN)
        if not answer["errors"]:
            return
        for item in answer["items"]:
            result = item["index"]
            # A conflict: the index has a newer state of the message.
            if result["status"] >= HTTPStatus.BAD_REQUEST and result["status"] != HTTPStatus.CONFLICT:
                reason = result.get("error", {}).get("reason", "")
                raise TidingsError(Code.OUTCOME_UNKNOWN, f"OpenSearch refused a document: {reason}")

    async def refresh(self) -> None:
        status, answer = await self._send("POST", "/_refresh")
        if status != HTTPStatus.NOT_FOUND:
            _require(status, answer, Code.OVERLOADED)

    async def tenants(self) -> Sequence[TenantId]:
        body = {"size": 0, "aggs": {"tenants": {"terms": {"field": "tenant", "size": _MAX_TENANTS}}}}
        status, answer = await self._send("POST", "/_search", _encode(body))
        if status == HTTPStatus.NOT_FOUND:
            return []
        _require(status, answer, Code.OVERLOADED)
        return [TenantId(each["key"]) for each in answer["aggregations"]["tenants"]["buckets"]]

    async def delete_tenant(self, tenant: TenantId) -> None:
        await self._delete([{"term": {"tenant": tenant}}], {"routing": tenant})

    async def delete_chat(self, chat: ChatKey) -> None:
        tenant = chat.tenant
        await self._delete([{"term": {"tenant": tenant}}, {"term": {"chat": chat.chat}}], {"routing": tenant})

    async def delete_user(self, tenant: TenantId, user: UserId) -> None:
        await self._delete([{"term": {"tenant": tenant}}, {"term": {"sender": user}}], {"routing": tenant})

    async def delete_expired(self, now_ms: int) -> None:
        await self._delete([{"range": {"expires": {"lte": now_ms}}}], {})

    async def has_chat(self, chat: ChatKey) -> bool:
        filters = [{"term": {"tenant": chat.tenant}}, {"term": {"chat": chat.chat}}]
        return bool(await self._search(chat.tenant, filters, 1))

    async def has_user(self, tenant: TenantId, user: UserId) -> bool:
        await self.refresh()
        found = await self._search(tenant, [{"term": {"tenant": tenant}}, {"term": {"sender": user}}], 1)
        return bool(found)

    async def purge(self) -> None:
        """Rewrite the segments with deleted documents. Waits up to a minute for the leases on them."""
        started = self._clock.now_ms()
        await self.refresh()
        if await self._shards() == ():
            return
        await self._await_leases()
        for path, params in schema.PURGE:
            status, answer = await self._send("POST", path, None, params, timeout_s=_PURGE_S)
            _require(status, answer, Code.OUTCOME_UNKNOWN)
            if answer["_shards"]["failed"]:
                raise TidingsError(Code.OUTCOME_UNKNOWN, "OpenSearch did not purge all shards.")
        body = _encode({"_meta": {"purged_ms": started}})
        _require(*await self._send("PUT", "/_mapping", body), Code.OUTCOME_UNKNOWN)

    async def _await_leases(self) -> None:
        """Wait until no copy of a shard retains a change that was made before.

        A shard keeps the history of its changes for copies that recover, also the fields of deleted documents. Every copy
        has a lease on it, which OpenSearch renews each 30 seconds (`schema.LEASE`).
        """
        wanted = [shard for shard in await self._shards() if shard.deleted]
        deadline = self._clock.monotonic() + _LEASES_S
        while any(shard.max_sequence >= shard.retained_from for shard in wanted):
            if self._clock.monotonic() > deadline:
                raise TidingsError(Code.OUTCOME_UNKNOWN, "OpenSearch retains the history of its changes.")
            await asyncio.sleep(_POLL_S)
            now = {shard.name: shard for shard in await self._shards()}
            wanted = [
                replace(shard, retained_from=now[shard.name].retained_from)
                for shard in wanted
                if shard.name in now
            ]

    async def _shards(self) -> Sequence[schema.PrimaryShard]:
        """Return the primary shards. Empty: there is no index."""
        status, answer = await self._send("GET", "/_stats/docs", None, {"level": "shards"})
        if status == HTTPStatus.NOT_FOUND:
            return ()
        _require(status, answer, Code.OUTCOME_UNKNOWN)
        return schema.primary_shards(answer)

    async def purged_ms(self) -> int:
        status, answer = await self._send("GET", "/_mapping")
        if status == HTTPStatus.NOT_FOUND:
            return 0
        _require(status, answer, Code.OVERLOADED)
        [index] = answer.values()
        return int(index["mappings"].get("_meta", {}).get("purged_ms", 0))

    async def _delete(self, filters: list[Any], params: Mapping[str, str]) -> None:
        """Delete all matching documents. A document that changes meanwhile is looked at again."""
        body = _encode({"query": {"bool": {"filter": filters}}})
        asked = {**params, "conflicts": "proceed", "refresh": "true"}
        for _ in range(_MAX_TRIES):
            await self.refresh()  # The deletion sees only what a search would find.
            status, answer = await self._send("POST", "/_delete_by_query", body, asked)
            if status == HTTPStatus.NOT_FOUND:
                return
            _require(status, answer, Code.OUTCOME_UNKNOWN)
            if not answer["version_conflicts"] and not answer["failures"]:
                return
        raise TidingsError(Code.OUTCOME_UNKNOWN, "OpenSearch did not delete all documents.")

    async def _create(self) -> None:
        if self._is_created:
            return
        body = _encode(
            {"settings": {"index": schema.settings(self._options.shards)}, "mappings": schema.MAPPINGS}
        )
        status, answer = await self._send("PUT", "", body)
        exists = "resource_already_exists" in str(answer.get("error", ""))
        if not exists:
            _require(status, answer, Code.OUTCOME_UNKNOWN)
        self._is_created = True

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, str] | None = None,
        *,
        content_type: str = "application/json",
        timeout_s: float | None = None,
    ) -> tuple[int, dict[str, Any]]:
        code = Code.OVERLOADED if path in ("/_search", "/_refresh") else Code.OUTCOME_UNKNOWN
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=body,
                params=params,
                headers={"content-type": content_type},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout_s or self._options.timeout_s),
            ) as response:
                raw = await response.read()
                return response.status, msgspec.json.decode(raw, type=dict[str, Any])
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise TidingsError(code, f"OpenSearch did not answer: {error!r}") from error


def _require(status: int, answer: Mapping[str, Any], code: Code) -> None:
    if status >= HTTPStatus.BAD_REQUEST:
        raise TidingsError(code, f"OpenSearch answered {status}: {answer.get('error')}")
