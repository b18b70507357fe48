"""Steps of an export are bounded, and may be interrupted and repeated while chats grow."""

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fixtures.kill_at import KillAt, KilledError
from hypothesis import given
from hypothesis import strategies as st

from tidings.exports import exporter
from tidings.exports.exporter import Exporter
from tidings.exports.model import (
    Attachment,
    EntriesPage,
    ExportedChat,
    JsonObject,
    NotificationsPage,
    StoredPart,
)
from tidings.exports.store.local_parts import open_local_parts
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

ACME, ANNA = TenantId("acme"), UserId("anna")
AT = "2026-11-18T10:00:00.000Z"


class MemoryParts:
    """The parts of one export. They outlive the process that wrote them."""

    def __init__(self) -> None:
        self.cursor: bytes | None = None
        self.bodies: dict[tuple[str, int], bytes] = {}

    async def read_cursor(self) -> bytes | None:
        return self.cursor

    async def put_cursor(self, cursor: bytes, /) -> None:
        self.cursor = cursor

    async def put(self, path: str, step: int, body: bytes, /) -> None:
        self.bodies[path, step] = body

    async def list(self) -> Sequence[StoredPart]:
        return sorted(StoredPart(path, step, len(body)) for (path, step), body in self.bodies.items())

    async def read(self, part: StoredPart, /) -> bytes:
        return self.bodies[part.path, part.step]

    async def delete(self, part: StoredPart, /) -> None:
        del self.bodies[part.path, part.step]


class ScriptedData:
    """Chats with a number of messages each, an inbox, and an attachment in every tenth message."""

    def __init__(self, sizes: Sequence[int], notifications: int = 0) -> None:
        self.sizes = {ChatId(f"g{number:06d}"): size for number, size in enumerate(sizes)}
        self.count = notifications
        self.largest_read = 0

    async def documents(self, tenant: TenantId, user: UserId, /) -> Mapping[str, JsonObject]:
        return {"profile.json": {"id": user, "tenant": tenant}}

    async def chats(self, _: TenantId, __: UserId, after: ChatId | None, limit: int, /) -> Sequence[ChatId]:
        return [chat for chat in self.sizes if after is None or chat > after][:limit]

    async def chat(self, chat: ChatKey, _: UserId, /) -> ExportedChat | None:
        return ExportedChat(f"title of {chat.chat}", {"id": chat.chat}, [{"user": "anna"}])

    async def entries(self, chat: ChatKey, _: UserId, after: int, limit: int, /) -> EntriesPage:
        size = self.sizes[chat.chat]
        up_to = min(after + limit, size)
        self.largest_read = max(self.largest_read, limit)
        entries = [self._entry(chat, sequence) for sequence in range(after + 1, up_to + 1)]
        return EntriesPage(entries, up_to, up_to < size)

    @staticmethod
    def _entry(chat: ChatKey, sequence: int) -> dict[str, Any]:
        made = {
            "sequence": sequence,
            "kind": "message",
            "sender": "anna",
            "state": "active",
            "created_at": AT,
        }
        made |= {"text": f"{chat.chat}/{sequence}"}
        return made | ({"attachments": [f"{chat.chat}-{sequence}"]} if sequence % 10 == 0 else {})

    async def names(self, _: TenantId, users: Collection[str], /) -> Mapping[str, str]:
        return dict.fromkeys(users, "Anna")

    async def attachments(self, _: ChatKey, __: UserId, uploads: Collection[str], /) -> Sequence[Attachment]:
        return [Attachment(each, "a.png", "image/png", f"key/{each}") for each in uploads]

    async def inboxes(self, _: TenantId, /) -> Sequence[str]:
        return ["news", "alerts"]

    async def notifications(
        self, _: TenantId, __: UserId, inbox: str, below: str | None, /, *, is_archived: bool
    ) -> NotificationsPage:
        start = int(below or 0)
        numbers = range(start, min(start + 2, self.count))
        common = {"message": {"title": "t"}, "received_at": AT, "is_read": True, "is_archived": is_archived}
        found = [{"id": f"{inbox}/{is_archived}/{number}", **common} for number in numbers]
        return NotificationsPage(found, str(numbers.stop) if numbers.stop < self.count else None)


class Bucket:
    async def size_of(self, key: str) -> int | None:
        return None if key.endswith("-20") else len(key)

    async def read(self, key: str) -> AsyncIterator[bytes]:
        yield key.encode()


async def export(
    data: ScriptedData, parts: MemoryParts, failpoints: Failpoints = NO_FAILPOINTS
) -> dict[str, bytes]:
    writer = await Exporter(data, parts, Bucket(), SystemClock(), failpoints).collect(ACME, ANNA)
    packed = io.BytesIO()
    async for chunk in writer.chunks():
        packed.write(chunk)
    with zipfile.ZipFile(packed) as opened:
        assert opened.testzip() is None
        names = opened.namelist()
        assert len(set(names)) == len(names)
        return {name: opened.read(name) for name in names}


def lines(files: Mapping[str, bytes], name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files[name].splitlines()]


def check_is_whole(files: Mapping[str, bytes], data: ScriptedData, at_least: Mapping[ChatId, int]) -> None:
    """Check that each chat has the sequences 1, 2, 3 … once in the lines and in the pages, up to its size at the start."""
    found: dict[str, list[int]] = {chat: [] for chat in data.sizes}
    for line in lines(files, "messages.jsonl"):
        found[line["chat"]].append(line["sequence"])
    pages = b"".join(body for name, body in files.items() if name.startswith("chats/")).decode()
    for chat, sequences in found.items():
        assert sequences == list(range(1, len(sequences) + 1))
        assert len(sequences) >= at_least[ChatId(chat)]
        assert all(pages.count(f">{chat}/{sequence}<") == 1 for sequence in sequences)
    assert [line["id"] for line in lines(files, "chats.jsonl")] == list(data.sizes)
    assert files["index.html"].count(b"<tr><td>") == len(data.sizes)
    ids = [line["id"] for line in lines(files, "inbox.jsonl")]
    assert len(ids) == len(set(ids)) == 4 * data.count


@contextmanager
def small_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporter, "PAGE_ENTRIES", 4)
        patch.setattr(exporter, "READ_ENTRIES", 3)
        patch.setattr(exporter, "STEP_CHATS", 3)
        yield


@given(
    sizes=st.lists(st.integers(0, 12), max_size=8),
    lives=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 7), st.integers(0, 6)), max_size=12),
    notifications=st.integers(0, 5),
)
def test_no_line_is_missing_or_doubled_whatever_dies_and_grows(
    sizes: list[int], lives: list[tuple[int, int, int]], notifications: int
) -> None:
    """A life: a process dies at its nth failpoint, and a chat has more entries when the next one starts."""
    data, parts = ScriptedData(sizes, notifications), MemoryParts()
    smallest = dict(data.sizes)
    with small_steps():
        for at, chosen, growth in lives:
            try:
                asyncio.run(export(data, parts, KillAt(at)))
            except KilledError:
                if chosen < len(sizes):
                    data.sizes[ChatId(f"g{chosen:06d}")] += growth
        files = asyncio.run(export(data, parts))
    check_is_whole(files, data, smallest)


async def test_steps_and_reads_are_bounded() -> None:
    data, parts = ScriptedData([3500, *[2] * 250, 1]), MemoryParts()
    files = await export(data, parts)
    check_is_whole(files, data, data.sizes)
    by_step: dict[int, int] = {}
    for (path, step), body in parts.bodies.items():
        if path == "messages.jsonl":
            by_step[step] = len(body.splitlines())
    assert max(by_step.values()) < 2 * exporter.PAGE_ENTRIES
    assert data.largest_read == exporter.READ_ENTRIES
    assert sum(path == "chats.jsonl" for path, _ in parts.bodies) <= 1 + 252 // exporter.STEP_CHATS + 4


async def test_the_manifest_lists_all_files_and_those_that_are_missing() -> None:
    files = await export(ScriptedData([25]), MemoryParts())
    manifest = json.loads(files["manifest.json"])
    assert manifest["counts"] == {"chats": 1, "entries": 25, "notifications": 0, "attachments": 2}
    assert {each["path"] for each in manifest["files"]} == files.keys() - {"manifest.json"}
    assert manifest["missing"] == ["media/g000000-20-a.png"]
    assert files["media/g000000-10-a.png"] == b"key/g000000-10"
    assert next(iter(files)) == "index.html"
    assert not any("@" in name for name in files)
    assert b"key/" not in files["media.jsonl"]


async def test_an_interrupted_archive_is_the_same_when_it_is_written_again() -> None:
    data, parts = ScriptedData([5]), MemoryParts()
    first = await export(data, parts)
    assert await export(data, parts) == first


async def test_parts_in_a_directory_are_replaced_listed_and_deleted(tmp_path: Path) -> None:
    with open_local_parts(tmp_path / "out.partial") as parts:
        assert await parts.read_cursor() is None
        for step, body in ((2, b"old"), (2, b"second"), (10, b"third"), (1, b"first")):
            await parts.put("chats/00001.html", step, body)
        await parts.put("@objects", 1, b"")
        await parts.put_cursor(b"{}")
        found = await parts.list()
        assert [(part.path, part.step, part.size) for part in found] == [
            ("@objects", 1, 0),
            *(("chats/00001.html", step, size) for step, size in ((1, 5), (2, 6), (10, 5))),
        ]
        assert [await parts.read(part) for part in found[1:]] == [b"first", b"second", b"third"]
        await parts.delete(found[0])
        assert len(await parts.list()) == 3
    with open_local_parts(tmp_path / "out.partial") as parts:
        assert await parts.read_cursor() == b"{}"
        parts.delete_all()
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - a directory of this test


def test_one_process_at_a_time_uses_a_directory(tmp_path: Path) -> None:
    with (
        open_local_parts(tmp_path / "out.partial"),
        pytest.raises(TidingsError, match="Another process"),
        open_local_parts(tmp_path / "out.partial"),
    ):
        raise AssertionError("two processes use one directory")
