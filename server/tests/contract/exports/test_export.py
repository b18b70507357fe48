"""An archive has what its user can read through the REST API, and nothing else; a process may die at any step."""

import hashlib
from collections import defaultdict
from typing import Any

import pytest
from fixtures.export_env import INBOX, Archive, ExportEnv
from fixtures.kill_at import KillAt, KilledError
from fixtures.use_cases import ANNA, BEN, CLEO, code_of

from tidings.exports import exporter
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, UserId

HOUR_MS = 3_600_000


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "PAGE_ENTRIES", 3)
    monkeypatch.setattr(exporter, "READ_ENTRIES", 2)
    monkeypatch.setattr(exporter, "STEP_CHATS", 2)


def entries_by_chat(archive: Archive) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in archive.lines("messages.jsonl"):
        found[line.pop("chat")].append(line)
    return dict(found)


async def check_is_complete(env: ExportEnv, archive: Archive, user: UserId) -> None:
    """Compare every line with the answers of the REST API to this user."""
    reader = env.api.user(user)
    listed = await env.readable_chats(reader)
    shown = archive.lines("chats.jsonl")
    assert [{k: v for k, v in chat.items() if k != "readable"} for chat in shown] == listed
    entries = entries_by_chat(archive)
    assert entries.keys() == {chat["id"] for chat in listed}
    for chat in listed:
        assert entries[chat["id"]] == await env.readable_entries(reader, chat["id"])
    lines = archive.lines("inbox.jsonl")
    assert {line.pop("inbox") for line in lines} <= {"default"}
    assert lines == await env.readable_notifications(reader)
    assert archive.json("profile.json") == await reader.ok("GET", "/v1/me")
    assert archive.json("blocks.json") == await reader.ok("GET", "/v1/blocks")
    assert archive.json("invites.json") == await reader.ok("GET", "/v1/invites")
    preferences = archive.json("preferences.json")
    assert preferences["push"] == await reader.ok("GET", "/v1/me/push-preferences")
    assert preferences["inboxes"]["default"] == await reader.ok("GET", f"{INBOX}/preferences")
    check_manifest(archive)


def check_manifest(archive: Archive) -> None:
    manifest = archive.json("manifest.json")
    assert {each["path"]: each["sha256"] for each in manifest["files"]} == {
        name: hashlib.sha256(body).hexdigest()
        for name, body in archive.files.items()
        if name != "manifest.json"
    }
    counted = ("chats.jsonl", "messages.jsonl", "inbox.jsonl", "media.jsonl")
    assert list(manifest["counts"].values()) == [len(archive.lines(name)) for name in counted]


@pytest.mark.usefixtures("small_steps")
async def test_an_archive_has_everything_that_the_user_can_read_and_nothing_else(exports: ExportEnv) -> None:
    chats = await exports.populate()
    exports.use_cases.clock.ahead_ms = 2 * HOUR_MS
    archive = await exports.export(BEN)
    await check_is_complete(exports, archive, BEN)
    entries = entries_by_chat(archive)
    assert chats["foreign"].chat not in entries
    everything = b"".join(archive.files.values())
    for hidden in (b"secret", b"to be deleted", b"vanishes", b"deleted file", b"unchecked file", b"original"):
        assert hidden not in everything
    for visible in (b"before", b"corrected", b"fourth", b"by Dora", b"answer"):
        assert visible in archive.files["messages.jsonl"]
    assert b"<bdi>Anna &lt;b&gt;A&lt;/b&gt;</bdi></a>" in archive.files["index.html"], "the direct chat"
    states = [each["state"] for each in entries[chats["rejoined"].chat] if each["kind"] == "message"]
    assert states.count("expired") == 2
    assert states.count("redacted") == 1


async def test_each_user_receives_their_own_archive(exports: ExportEnv) -> None:
    await exports.populate()
    for user in (ANNA, CLEO):
        await check_is_complete(exports, await exports.export(user), user)


async def test_an_erased_author_is_erased_in_the_archive_of_others(exports: ExportEnv) -> None:
    chats = await exports.populate()
    await exports.use_cases.user_keys.destroy(exports.use_cases.tenant, CLEO)
    archive = await exports.export(BEN)
    await check_is_complete(exports, archive, BEN)
    states = {each["state"] for each in entries_by_chat(archive)[chats["rejoined"].chat]}
    assert "erased" in states


async def test_attachments_are_files_with_safe_names_and_pages_link_to_them(exports: ExportEnv) -> None:
    await exports.populate()
    archive = await exports.export(BEN)
    (file,) = archive.lines("media.jsonl")
    assert archive.files[file["file"]] == b"\x89PNG picture"
    assert file["file"] == f"media/{file['id']}-Our beach.html.txt"
    assert file.keys() == {"id", "chat", "file", "name", "type"}, "no object keys"
    assert any(file["file"].encode() in archive.files[page] for page in archive.pages())
    assert archive.json("manifest.json")["missing"] == []


async def test_a_file_that_was_deleted_since_is_listed_as_missing(exports: ExportEnv) -> None:
    await exports.populate()
    for key in await exports.media.keys():
        await exports.media.bucket.delete(key)
    archive = await exports.export(BEN)
    assert archive.json("manifest.json")["missing"] == [archive.lines("media.jsonl")[0]["file"]]


async def test_devices_are_without_tokens(exports: ExportEnv) -> None:
    await exports.populate()
    archive = await exports.export(BEN)
    (device,) = archive.json("devices.json")["push"]
    assert (device["device"], device["kind"]) == ("phone", "fcm")
    assert b"secret-token" not in b"".join(archive.files.values())


@pytest.mark.usefixtures("small_steps")
async def test_a_long_chat_has_several_pages(exports: ExportEnv) -> None:
    chat = await exports.use_cases.group(BEN)
    await exports.say(chat, ANNA, *(f"m{number}" for number in range(7)))
    await exports.api.settle()
    archive = await exports.export(BEN)
    assert archive.pages() == ["chats/00001-2.html", "chats/00001-3.html", "chats/00001.html"]
    shown = b"".join(archive.files[page] for page in sorted(archive.pages(), key=len))
    assert [shown.count(f">m{number}<".encode()) for number in range(7)] == [1] * 7
    assert b'href="chats/00001.html"' in archive.files["index.html"]


@pytest.mark.usefixtures("small_steps")
async def test_a_process_may_die_at_every_step_while_members_send(exports: ExportEnv) -> None:
    chats = await exports.populate()
    died, last = 0, ""
    # Every second process dies between the parts of a step and its cursor, the others after the cursor.
    while last != "exports.file_added":
        with pytest.raises(KilledError) as death:
            await exports.export(BEN, KillAt(1 + died % 2))
        died, last = died + 1, str(death.value)
        await exports.say(chats["direct"], ANNA, f"meanwhile {died}")
    archive = await exports.export(BEN)
    assert died > 10
    entries = entries_by_chat(archive)
    for chat, lines in entries.items():
        sequences = [line["sequence"] for line in lines]
        assert sequences == sorted(set(sequences)), chat
    reader = exports.api.user(BEN)
    for name in ("rejoined", "left"):
        chat = chats[name].chat
        assert entries[chat] == await exports.readable_entries(reader, chat)
    direct = entries[chats["direct"].chat]
    now = await exports.readable_entries(reader, chats["direct"].chat)
    assert [each["id"] for each in direct] == [each["id"] for each in now[: len(direct)]]
    check_manifest(archive)
    pages = b"".join(archive.files[page] for page in archive.pages())
    assert all(
        pages.count(f'id="m{each["sequence"]}"'.encode()) >= 1 for each in direct if each["kind"] == "message"
    )
    assert archive.files["index.html"].count(b"<tr><td>") == 3


async def test_an_unknown_user_is_refused_and_leaves_no_files(exports: ExportEnv) -> None:
    assert await code_of(exports.export(UserId("nobody"))) is Code.USER_NOT_FOUND
    assert [path.name for path in exports.directory.glob("*.partial")] == []


async def test_parts_of_another_export_are_refused(exports: ExportEnv) -> None:
    chat: ChatKey = await exports.use_cases.commands.direct(exports.use_cases.tenant, ANNA, BEN)
    await exports.say(chat, ANNA, "hi")
    with pytest.raises(KilledError):
        await exports.export(BEN, KillAt(2))
    partial = exports.directory / f"{BEN}.zip.partial"
    partial.rename(exports.directory / f"{ANNA}.zip.partial")
    assert await code_of(exports.export(ANNA)) is Code.REQUEST_INVALID
