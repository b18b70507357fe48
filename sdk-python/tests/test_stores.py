"""Both stores give the same guarantees; the file gives them across a crash."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tidings_sdk import ChatRow, FileStore, MemoryStore, StoreInUse
from tidings_sdk.stores.store import OutboxEntry, Store, StoreOwner
from tidings_wire.frames.messages import Edit, React, Redact, Send

ROWS = [
    OutboxEntry(
        Send(chat="g1", client_message_id="k-1", text="Grüße 👋", data={"a": [1]}, mentions=("ben",))
    ),
    OutboxEntry(Edit(chat="g2", client_message_id="k-1", after=4, sequence=3, text="x"), 7),
    OutboxEntry(Redact(chat="g1", client_message_id="k-2", after=4, sequence=3), 7),
    OutboxEntry(React(chat="g1", client_message_id="k-3", after=4, sequence=3, emoji="👍"), 7),
]


@pytest.fixture(params=["memory", "file"])
def again(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Return a function that opens the store; each later call opens it as the next process would."""
    held: list[Store] = [MemoryStore()]

    def opened() -> Store:
        if request.param == "file":
            held[0].close()
            held[0] = FileStore(tmp_path / "outbox")
        return held[0]

    return opened


def test_rows_are_restored_in_their_order(again: Callable[[], Store]) -> None:
    store = again()
    for row in ROWS:
        store.add(row)
    store.change(ROWS[0].sent_after(9, 7))
    store.drop("g2", "k-1")
    assert again().load().rows == [ROWS[0].sent_after(9, 7), *ROWS[2:]]
    again().close()


def test_positions_are_deleted_with_their_epoch(again: Callable[[], Store]) -> None:
    store = again()
    store.own(StoreOwner("anna", "d", 0))
    store.save_positions({"g1": 4, "g2": 1})
    store.save_positions({"g1": 5})
    store.own(StoreOwner("anna", "d2", 0))
    assert again().load().positions == {"g1": 5, "g2": 1}
    again().own(StoreOwner("anna", "d2", 1))
    kept = again().load()
    assert (kept.owner, kept.positions) == (StoreOwner("anna", "d2", 1), {})
    again().close()


def test_the_chat_list_is_restored_and_deleted_with_its_epoch(again: Callable[[], Store]) -> None:
    store = again()
    store.own(StoreOwner("anna", "d", 0))
    rows = [ChatRow(chat=chat, head=3, name="Grüße", members=("ben",)) for chat in ("g1", "g2", "g3")]
    store.save_chats({row.chat: row for row in rows})
    store.save_chats({"g2": None, "g9": None})
    assert sorted(again().load().chats, key=lambda row: row.chat) == [rows[0], rows[2]]
    again().own(StoreOwner("anna", "d", 1))
    assert again().load().chats == []
    again().close()


def test_a_file_is_for_one_client_and_for_its_owner_alone(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "outbox")
    with pytest.raises(StoreInUse):
        FileStore(tmp_path / "outbox")
    assert (tmp_path / "outbox").stat().st_mode & 0o077 == 0
    store.close()
    FileStore(tmp_path / "outbox").close()


def test_stored_data_survives_a_killed_process(tmp_path: Path) -> None:
    script = f"""
import os, signal
from tidings_sdk import ChatRow, FileStore
from tidings_sdk.stores.store import OutboxEntry
from tidings_wire.frames.messages import Send
store = FileStore({str(tmp_path / "outbox")!r})
row = OutboxEntry(Send(chat="g1", client_message_id="k-1", text="hi"))
store.add(row)
store.change(row.sent_after(41, 0))
os.kill(os.getpid(), signal.SIGKILL)
"""
    died = subprocess.run([sys.executable, "-c", script], check=False)
    assert died.returncode == -9
    store = FileStore(tmp_path / "outbox")
    (row,) = store.load().rows
    assert (row.key, row.request.after, row.epoch) == ("k-1", 41, 0)
    store.close()
