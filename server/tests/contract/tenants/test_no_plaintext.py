"""No words of a message reach the engine: not on the wire, not in its files, in no usual spelling.

The whole way of a send, on both engines on disk, through a relay that keeps every byte.
"""

import asyncio
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from contract.tenants.relay import relay_to
from fixtures.engines import NOT_RUN, Dynamo
from fixtures.memory_log import MemoryMembers
from fixtures.tables import REGION, Tables, make_tables

from tidings.engines import dynoxide
from tidings.engines.cache import user_cache
from tidings.engines.fleet import Fleet
from tidings.engines.model import DynamoKind, Engine, Wish
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.append import Appends
from tidings.messages.content import Content, decode
from tidings.messages.lane import World
from tidings.messages.model import Entry, Kind
from tidings.messages.send import Send
from tidings.messages.store import DynamoChanges, DynamoLog
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.opening import open_client
from tidings.tables.patterns import delivery as patterns
from tidings.tenants.keys import KeyRing, Policy
from tidings.tenants.kms_file import FileKms
from tidings.tenants.sealing import ContentKey
from tidings.tenants.store import DynamoKeyStore

WORDS = "Meet-me-beneath-the-old-clock-at-noon"
CHAT = ChatKey(TenantId("acme"), ChatId("the-chat-of-this-test"))
ANNA = UserId("anna")


class Leaks(NamedTuple):
    """Spellings of the words that were found."""

    on_the_wire: set[str]
    on_disk: set[str]


def spellings(words: str) -> Iterator[tuple[str, bytes]]:
    """Also inside of something longer: base64 has three alignments, whose ends hang on the neighbours."""
    plain = words.encode()
    yield "plain", plain
    yield "hex", plain.hex().encode()
    yield "HEX", plain.hex().upper().encode()
    yield "utf-16le", words.encode("utf-16-le")
    yield "utf-16be", words.encode("utf-16-be")
    for shift in range(3):
        whole = plain[(3 - shift) % 3 :]
        whole = whole[: len(whole) // 3 * 3]
        yield f"base64, shifted by {shift}", b64encode(whole)
        yield f"url-safe base64, shifted by {shift}", urlsafe_b64encode(whole)


def found_in(data: bytes, words: str = WORDS) -> set[str]:
    return {name for name, spelled in spellings(words) if spelled in data}


def files_below(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def may(standing: bool, after: int | None, /) -> Code | None:  # noqa: FBT001 - the standing of these tests
    del after
    return None if standing else Code.NOT_A_MEMBER


def entry_of_creation() -> Entry:
    return Entry(
        sequence=1,
        ordinal=0,
        kind=Kind.CREATE,
        sender=ANNA,
        client_key=ClientKey("create"),
        fingerprint=b"",
        created_at_ms=0,
    )


async def send_all_shapes(client: Client, ring: KeyRing) -> None:
    """One by one, together in a transaction, with an idempotency row; read back; and a preview in a chat-list row."""
    clock = SystemClock()
    log = DynamoLog(client, clock)
    await log.append(CHAT, [entry_of_creation()])
    appends = Appends(World(log, MemoryMembers({ANNA}), clock, epoch=0))
    send = Send(appends, DynamoChanges(), keys=ring, may_send=may, clock=clock)
    content = Content(text=WORDS, data={"again": WORDS})
    await send(CHAT, ANNA, ClientKey("alone"), content, after=1)
    await asyncio.gather(*(send(CHAT, ANNA, ClientKey(f"k{n}"), content, after=1) for n in range(6)))
    await send(CHAT, ANNA, ClientKey("keyed"), content)
    newest = await log.newest(CHAT)
    assert newest is not None
    assert newest.sequence == 9
    assert newest.content is not None
    keys = await ring.of(CHAT.tenant, [newest.content])
    assert decode(keys.unseal(CHAT, 9, newest.content)) == content
    await client.update(
        patterns.RAISE_ROW,
        {"user_id": "acme#anna", "chat_id": f"{CHAT.tenant}#{CHAT.chat}"},
        "SET last_sequence = :n, last_preview = :p",
        values={":n": 9, ":p": keys.seal_preview(CHAT, 9, WORDS.encode())},
    )


def leaks(fleet: Fleet, tables: Tables, key_file: Path, *, is_encrypting: bool = True) -> Leaks:
    async def run() -> bytes:
        async with (
            relay_to(tables.url) as relay,
            open_client(relay.url, REGION, tables.prefix) as client,
        ):
            policy = Policy(is_encrypting=is_encrypting)
            ring = KeyRing(DynamoKeyStore(client), FileKms(key_file), SystemClock(), policy)
            await send_all_shapes(client, ring)
        return bytes(relay.sent)

    wire = asyncio.run(asyncio.wait_for(run(), 60))
    data = fleet.status()[0].node.data
    fleet.stop()
    disk = files_below(data)
    for place in (wire, disk):
        assert CHAT.chat.encode() in place, (
            "what is not secret is found, so the search looks at the right bytes"
        )
    return Leaks(found_in(wire), found_in(disk))


type Searched = Callable[..., Leaks]


@pytest.fixture(params=["local", "dynoxide"])
def searched(request: pytest.FixtureRequest, own_fleet: Callable[[Wish], Fleet], tmp_path: Path) -> Searched:
    """Sends on an engine of its own, on disk, and says what was found where."""
    kind: DynamoKind = request.param
    if kind == "dynoxide" and not dynoxide.is_installed(user_cache()) and not dynoxide.can_be_installed():
        pytest.skip(NOT_RUN)
    fleet = own_fleet(Wish(engines=frozenset({Engine.DYNAMO}), dynamo=kind, on_disk=True))
    dynamo = Dynamo(kind, f"http://{fleet.status()[0].node.address}")
    tables = next(make_tables(dynamo, "plaintext-"))
    return lambda **options: leaks(fleet, tables, tmp_path / "tidings.key", **options)


def test_no_words_reach_the_engine(searched: Searched) -> None:
    assert searched() == Leaks(set(), set())


def test_sealing_that_does_nothing_is_found_out(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: without it, the test above might be looking at nothing."""
    monkeypatch.setattr(ContentKey, "seal", lambda self, where, body: self.leave_clear(where, body))
    found = searched()
    assert any("base64" in spelled for spelled in found.on_the_wire)
    assert found.on_disk


def test_with_encryption_off_the_words_are_there(searched: Searched) -> None:
    found = searched(is_encrypting=False)
    assert found.on_the_wire
    assert found.on_disk


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(4))
def test_the_search_finds_every_spelling_in_the_middle_of_something(before: int, after: int) -> None:
    longer = b"\xff" * before + WORDS.encode() + b"\xff" * after
    assert found_in(longer) == {"plain"}
    assert found_in(longer.hex().encode()) == {"hex"}
    assert found_in(longer.hex().upper().encode()) == {"HEX"}
    for encode in (b64encode, urlsafe_b64encode):
        assert {spelled.rpartition(" ")[2] for spelled in found_in(encode(longer))} == {str(before % 3)}
    for name in ("utf-16-le", "utf-16-be"):
        assert found_in(b"x" * before + WORDS.encode(name)) >= {name.replace("16-", "16")}
