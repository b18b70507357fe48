"""The index in OpenSearch: its fields and settings, queries, and the requests of a purge."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from typing import Any, Final

from msgspec import Struct

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.search import rules
from tidings.search.model import CandidateRequest, IndexChange, MessageRef, ReadableChats, SearchDocument

FORMAT: Final = "v2"
LEASE: Final = "30s"
_NEVER: Final = 2**62
_KEEP_REMOVAL_MS: Final = 3_600_000
PURGE: Final[Sequence[tuple[str, Mapping[str, str]]]] = (
    # The operations log has the fields of every change until it is flushed.
    ("/_flush", {"force": "true", "wait_if_ongoing": "true"}),
    ("/_forcemerge", {"only_expunge_deletes": "true", "flush": "true"}),
    ("/_flush", {"force": "true", "wait_if_ongoing": "true"}),
    # Searches use the former segments until the refresh, and their files exist until then.
    ("/_refresh", {}),
)
_MAX_INTERVALS: Final = 300
"""Intervals of one search. OpenSearch refuses a query with more than 1,024 clauses. It counts three for each interval: the
chat, and the range in the points and in the values of the field."""
_KEYWORD: Final = {"type": "keyword"}
MAPPINGS: Final = {
    "dynamic": "strict",
    "_source": {"enabled": False},
    "_routing": {"required": True},
    "properties": {
        "tenant": _KEYWORD,
        "chat": _KEYWORD | {"doc_values": False},
        "sender": _KEYWORD | {"doc_values": False},
        # Only the documents of a word are stored: neither its positions nor how often it occurs.
        "words": {"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": False},
        "sequence": {"type": "long"},
        "order": {"type": "long"},
        "expires": {"type": "long"},
    },
}


def settings(shards: int) -> Mapping[str, object]:
    return {
        "number_of_shards": shards,
        "refresh_interval": "1s",
        # Deleted documents must not keep a version: a tenant can be indexed again at once.
        "gc_deletes": "0s",
        # A purge rewrites every segment with a deleted document. The default leaves those with less than 10 %.
        "merge.policy.expunge_deletes_allowed": 0,
        # A purge waits for the renewal of leases. A copy that was offline for longer is copied from files.
        "soft_deletes.retention_lease.period": LEASE,
    }


class PrimaryShard(Struct, frozen=True):
    """deleted: documents that are still in its files. retained_from: older changes may be removed from the history."""

    name: str
    deleted: int
    max_sequence: int
    retained_from: int


def primary_shards(answer: Mapping[str, Any]) -> Sequence[PrimaryShard]:
    """Return the primary shards of the statistics of an index."""
    return tuple(
        PrimaryShard(
            name,
            copy["docs"]["deleted"],
            copy["seq_no"]["max_seq_no"],
            min((lease["retaining_seq_no"] for lease in copy["retention_leases"]["leases"]), default=_NEVER),
        )
        for index in answer["indices"].values()
        for name, copies in index["shards"].items()
        for copy in copies
        if copy["routing"]["primary"]
    )


def bulk_lines(change: IndexChange, now_ms: int) -> Iterator[Mapping[str, object]]:
    """Return the two lines of a change in a bulk request."""
    ref, tenant = change.ref, change.ref.chat.tenant
    yield {
        "index": {
            "_id": f"{tenant}#{ref.chat.chat}#{ref.sequence}",
            "routing": tenant,
            "version": change.version,
            "version_type": "external_gte",
        }
    }
    fields: dict[str, Any] = {"tenant": tenant, "chat": ref.chat.chat}
    if isinstance(change, SearchDocument):
        fields |= {
            "sender": change.sender,
            "words": " ".join(change.words),
            "sequence": ref.sequence,
            "order": rules.order_of(ref, change.at_ms),
            "expires": _NEVER if change.expires_ms is None else change.expires_ms,
        }
    else:
        fields |= {"order": 0, "expires": now_ms + _KEEP_REMOVAL_MS}
    yield fields


def readable(chats: ReadableChats) -> Sequence[Any]:
    """Return filters of the documents inside the intervals. Each is for a search of its own; a document passes one."""
    whole, parts = rules.split_whole(chats)
    inside = [
        {
            "bool": {
                "filter": [
                    {"term": {"chat": chat}},
                    {"range": {"sequence": {"gt": joined} | ({} if removed is None else {"lte": removed})}},
                ]
            }
        }
        for chat, (joined, removed) in parts
    ]
    found: list[Any] = [{"terms": {"chat": list(whole)}}] if whole else []
    return found + [{"bool": {"should": list(some)}} for some in batched(inside, _MAX_INTERVALS)]


def filters(asked: CandidateRequest) -> list[Any]:
    """Return the other filters of a search."""
    query = asked.query
    order: dict[str, int] = {"gte": rules.first_order_at(query.after_ms or 0)}
    below = [] if asked.below is None else [asked.below]
    below += [] if query.before_ms is None else [rules.first_order_at(query.before_ms)]
    if below:
        order["lt"] = min(below)
    filters: list[Any] = [
        {"term": {"tenant": asked.tenant}},
        {"range": {"order": order}},
        {"range": {"expires": {"gt": asked.now_ms}}},
    ]
    filters += [
        {"prefix" if word.is_prefix else "term": {"words": word.text}} for word in query.indexed_words
    ]
    if query.sender is not None:
        filters.append({"term": {"sender": query.sender}})
    return filters


def ref_from_key(key: str) -> MessageRef:
    tenant, _, rest = key.partition("#")
    chat, _, sequence = rest.rpartition("#")
    return MessageRef(ChatKey(TenantId(tenant), ChatId(chat)), int(sequence))
