"""The index in a directory: its fields and queries. Needs the extra `search` (tantivy)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import tantivy

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.search import rules
from tidings.search.model import Candidate, CandidateRequest, MessageRef, QueryWord, SearchDocument

FORMAT: Final = "v3"
"""The subdirectory of an index with these fields. Another format starts empty and needs a rebuild."""
_KEY, _TENANT, _CHAT, _SEQUENCE, _SENDER, _WORDS, _ORDER, _EXPIRES = (
    "key", "tenant", "chat", "sequence", "sender", "words", "order", "expires",
)  # fmt: skip
_STORED: Final = (_KEY, _SENDER, _WORDS, _ORDER, _EXPIRES)
_NEVER: Final = 2**62
_BASIC: Final = "basic"
"""Only the documents of a word are stored: neither its positions nor how often it occurs."""
_MUST: Final = tantivy.Occur.Must
_SHOULD: Final = tantivy.Occur.Should


def build_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in (_TENANT, _CHAT):
        builder.add_text_field(name, tokenizer_name="raw", index_option=_BASIC)
    # The stored fields are enough to write the document again, for a purge. The words are stored in their sorted order.
    for name in (_KEY, _SENDER):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option=_BASIC)
    builder.add_text_field(_WORDS, stored=True, tokenizer_name="whitespace", index_option=_BASIC)
    builder.add_integer_field(_SEQUENCE, fast=True)
    builder.add_integer_field(_ORDER, stored=True, indexed=True, fast=True)
    builder.add_integer_field(_EXPIRES, stored=True, indexed=True, fast=True)
    return builder.build()


SCHEMA: Final = build_schema()


def document_key(ref: MessageRef) -> str:
    return f"{_chat_term(ref.chat.tenant, ref.chat.chat)}#{ref.sequence}"


def ref_from_key(key: str) -> MessageRef:
    tenant, _, rest = key.partition("#")
    chat, _, sequence = rest.rpartition("#")
    return MessageRef(ChatKey(TenantId(tenant), ChatId(chat)), int(sequence))


def _chat_term(tenant: TenantId, chat: ChatId) -> str:
    return f"{tenant}#{chat}"


def replace_document(writer: tantivy.IndexWriter, document: SearchDocument) -> None:
    remove_document(writer, document.ref)
    stored = {
        _KEY: document_key(document.ref),
        _SENDER: _sender_term(document.ref.chat.tenant, document.sender),
        _WORDS: " ".join(document.words),
        _ORDER: rules.order_of(document.ref, document.at_ms),
        _EXPIRES: _NEVER if document.expires_ms is None else document.expires_ms,
    }
    writer.add_document(_document(document.ref, stored))


def _document(ref: MessageRef, stored: Mapping[str, Any]) -> tantivy.Document:
    made = tantivy.Document()
    made.add_text(_TENANT, ref.chat.tenant)
    made.add_text(_CHAT, _chat_term(*ref.chat))
    made.add_integer(_SEQUENCE, ref.sequence)
    for name in (_KEY, _SENDER, _WORDS):
        made.add_text(name, stored[name])
    for name in (_ORDER, _EXPIRES):
        made.add_integer(name, stored[name])
    return made


def write_again(writer: tantivy.IndexWriter, searcher: tantivy.Searcher) -> None:
    """Replace all segments of the index by new ones, with the documents that are not deleted. Takes effect at the commit."""
    writer.delete_all_documents()
    for chat, _ in searcher.terms_with_prefix(_CHAT, ""):
        # One chat at a time, so that the memory does not grow with the index.
        for _, at in searcher.search(_term(_CHAT, chat), limit=_all(searcher), count=False).hits:
            stored = {name: searcher.doc(at).get_first(name) for name in _STORED}
            writer.add_document(_document(ref_from_key(str(stored[_KEY])), stored))


def _all(searcher: tantivy.Searcher) -> int:
    return max(1, searcher.num_docs)


def _sender_term(tenant: TenantId, sender: str) -> str:
    return f"{tenant}#{sender}"


def remove_document(writer: tantivy.IndexWriter, ref: MessageRef) -> None:
    writer.delete_documents_by_term(_KEY, document_key(ref))


def remove_tenant(writer: tantivy.IndexWriter, tenant: TenantId) -> None:
    writer.delete_documents_by_term(_TENANT, tenant)


def remove_chat(writer: tantivy.IndexWriter, chat: ChatKey) -> None:
    writer.delete_documents_by_term(_CHAT, _chat_term(*chat))


def remove_user(writer: tantivy.IndexWriter, tenant: TenantId, user: str) -> None:
    writer.delete_documents_by_term(_SENDER, _sender_term(tenant, user))


def has_user(searcher: tantivy.Searcher, tenant: TenantId, user: str) -> bool:
    return _has_any(searcher, _term(_SENDER, _sender_term(tenant, user)))


def has_chat(searcher: tantivy.Searcher, chat: ChatKey) -> bool:
    return _has_any(searcher, _term(_CHAT, _chat_term(*chat)))


def _has_any(searcher: tantivy.Searcher, query: tantivy.Query) -> bool:
    return bool(searcher.search(query, limit=1, count=False).hits)


def remove_expired(writer: tantivy.IndexWriter, now_ms: int) -> None:
    writer.delete_documents_by_query(_range(_EXPIRES, 0, now_ms))


def has_expired(searcher: tantivy.Searcher, now_ms: int) -> bool:
    return _has_any(searcher, _range(_EXPIRES, 0, now_ms))


def tenants_in(searcher: tantivy.Searcher) -> list[TenantId]:
    # The terms of a segment include those of deleted documents, until it is merged.
    terms = [text for text, _ in searcher.terms_with_prefix(_TENANT, "")]
    return [TenantId(text) for text in terms if _has_any(searcher, _term(_TENANT, text))]


def find_candidates(searcher: tantivy.Searcher, asked: CandidateRequest) -> Sequence[Candidate]:
    clauses = _clauses(asked)
    found = _search(searcher, clauses, asked.limit + 1)
    if not rules.is_cut_in_a_tie(found, asked.limit):
        return found[: asked.limit]
    last = found[-1].order
    tied = _search(searcher, [*clauses, _range(_ORDER, last, last)], _MAX_TIED)
    return [each for each in found if each.order > last] + list(tied)


_MAX_TIED: Final = 1_000


def _search(searcher: tantivy.Searcher, clauses: Sequence[tantivy.Query], limit: int) -> list[Candidate]:
    query = tantivy.Query.boolean_query([(_MUST, clause) for clause in clauses])
    hits = searcher.search(query, limit=limit, count=False, order_by_field=_ORDER).hits
    return [Candidate(ref_from_key(str(searcher.doc(at).get_first(_KEY))), int(order)) for order, at in hits]


def _clauses(asked: CandidateRequest) -> list[tantivy.Query]:
    query = asked.query
    highest = min(
        (order - 1 for order in (asked.below, _order_or_none(query.before_ms)) if order is not None),
        default=_NEVER * 2 - 1,
    )
    clauses = [
        _term(_TENANT, asked.tenant),
        _readable(asked),
        _range(_ORDER, rules.first_order_at(query.after_ms or 0), highest),
        _range(_EXPIRES, asked.now_ms + 1, _NEVER),
        *(_word(word) for word in query.indexed_words),
    ]
    if query.sender is not None:
        clauses.append(_term(_SENDER, _sender_term(asked.tenant, query.sender)))
    return clauses


def _readable(asked: CandidateRequest) -> tantivy.Query:
    """Return a query of the documents inside the intervals."""
    whole, parts = rules.split_whole(asked.chats)
    terms = [_chat_term(asked.tenant, chat) for chat in whole]
    inside = [
        tantivy.Query.boolean_query(
            [
                (_MUST, _term(_CHAT, _chat_term(asked.tenant, chat))),
                (_MUST, _range(_SEQUENCE, joined + 1, _NEVER if removed is None else removed)),
            ]
        )
        for chat, (joined, removed) in parts
    ]
    queries = [tantivy.Query.term_set_query(SCHEMA, _CHAT, terms), *inside] if terms else inside
    return tantivy.Query.boolean_query([(_SHOULD, query) for query in queries])


def _order_or_none(at_ms: int | None) -> int | None:
    return None if at_ms is None else rules.first_order_at(at_ms)


def _word(word: QueryWord) -> tantivy.Query:
    # Folded words have letters and digits only, so a prefix is a regular expression as it is.
    return (
        tantivy.Query.regex_query(SCHEMA, _WORDS, f"{word.text}.*")
        if word.is_prefix
        else _term(_WORDS, word.text)
    )


def _term(field: str, value: str) -> tantivy.Query:
    return tantivy.Query.term_query(SCHEMA, field, value, _BASIC)


def _range(field: str, low: int, high: int) -> tantivy.Query:
    return tantivy.Query.range_query(SCHEMA, field, tantivy.FieldType.Integer, low, high)
