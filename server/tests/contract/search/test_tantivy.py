"""The index in a directory: failures of a commit."""

import asyncio
from pathlib import Path

import pytest
from fixtures.search import document, request

from tidings.search.store import tantivy_schema
from tidings.search.store.tantivy import TantivySearchIndex


async def test_after_a_commit_that_fails_unexpectedly_the_next_change_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = TantivySearchIndex(tmp_path)

    def fail(*_: object) -> None:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as broken:
        broken.setattr(tantivy_schema, "replace_document", fail)
        changes = [index.apply([document("acme", n, "word")]) for n in (1, 2)]
        failed = await asyncio.wait_for(asyncio.gather(*changes, return_exceptions=True), 5)
    assert [type(error) for error in failed] == [RuntimeError, RuntimeError]
    await asyncio.wait_for(index.apply([document("acme", 3, "word")]), 5)
    await index.refresh()
    assert [each.ref.sequence for each in await index.find(request("acme", "word"))] == [3]
    await index.close()
