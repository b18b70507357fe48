"""The short form of `just erasure-search`, what it decodes, and the mutants that it detects."""

import base64
import gzip
import io
import zipfile
from collections.abc import Callable

import pytest
from failpoints.erasure_mutants import ERASURE_MUTANTS
from fixtures.installation_processes import InstallationProcesses

from load.erasure.declared import Form
from load.erasure.decoding import lz4_frame, record_batches, views
from load.erasure.planting import KEPT
from load.erasure.run import result_of, run
from load.erasure.sealed import KeyTrial, OpenKey
from load.erasure.search import SecretSearch
from load.erasure.secret_words import PlantedSecret, SecretIndex
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.model import CONTENT
from tidings.tenants.rules import seal_location
from tidings.tenants.sealing import ContentKey

type StartEngines = Callable[[StartRequest], LocalCluster]
SECRET = PlantedSecret("message", b"abcdefghijklmnopqrstuvwx")
KEPT_SECRET = PlantedSecret(KEPT, b"xwvutsrqponmlkjihgfedcba")
WHERE = seal_location(CONTENT, ChatKey(TenantId("acme"), ChatId("g1")), 7)
# Written by the `lz4` command: "abcdefghijklmnopqrstuvwx " five times, so that it has references.
LZ4 = bytes.fromhex(
    "04224d186440a724000000ff0a6162636465666768696a6b6c6d6e6f7071727374757677782019004c50757677782000"
    "00000079543394"
)


def zipped(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", data)
    return made.getvalue()


@pytest.mark.parametrize(
    "encode",
    [
        lambda data: b"before" + data + b"after",
        lambda data: b'{"B":"' + base64.b64encode(data) + b'"}',
        lambda data: base64.urlsafe_b64encode(b"\xff" + data).rstrip(b"="),
        lambda data: b"record" + gzip.compress(data) + b"next",
        lambda data: base64.b64encode(gzip.compress(data)),
        zipped,
        lambda data: data[:11] + b"\x00" + data[11:],
    ],
    ids=["clear", "base64", "base64url", "gzip", "gzip in base64", "zip", "a part"],
)
def test_a_secret_is_found_in_every_encoding(encode: Callable[[bytes], bytes]) -> None:
    index = SecretIndex([SECRET, PlantedSecret.random("other")])
    stored = encode(b'{"text": "' + SECRET.text + b'"}')
    assert set().union(*(index.found_in(view) for view in views(stored))) == {SECRET}
    assert index.found_in(b"abcdefghi jklmnopqr stuvwx") == set(), "parts below ten letters are no find"


def batch(codec: int, records: bytes) -> bytes:
    """Return a record batch of a segment file, with only the fields that are read."""
    rest = bytes(4) + b"\x02" + bytes(4) + codec.to_bytes(2) + bytes(38) + records
    return bytes(8) + len(rest).to_bytes(4) + rest


def test_record_batches_are_decompressed() -> None:
    assert lz4_frame(LZ4).count(SECRET.text) == 5
    plain, packed = batch(0, b"plain"), batch(3, LZ4)
    assert list(record_batches(plain + packed + batch(1, gzip.compress(b"gzip")) + bytes(100))) == [
        b"plain",
        lz4_frame(LZ4),
        b"gzip",
    ]
    with pytest.raises(ValueError, match="compression 4"):
        list(record_batches(batch(4, b"zstd")))


@pytest.mark.parametrize(("secret", "is_opened"), [(bytes(32), True), (b"x" * 32, False)])
def test_a_sealed_content_is_opened_by_its_key_alone(secret: bytes, is_opened: bool) -> None:  # noqa: FBT001 - a parameter
    sealed = ContentKey(1, bytes(32)).seal(WHERE, b'{"text": "' + SECRET.text + b'"}')
    trial = KeyTrial(SecretIndex([SECRET]), [OpenKey("ben", 1, secret)], locations=[b"elsewhere", WHERE])
    found = [content.secrets for content in trial.opened(b"before" + sealed + b"after")]
    assert found == ([{SECRET}] if is_opened else [])


def searched(*finds: tuple[str, str, Form, PlantedSecret]) -> SecretSearch:
    """Return a search that has found these secrets."""
    index = SecretIndex([SECRET, KEPT_SECRET])
    found = SecretSearch(index, KeyTrial(index, [], []), TenantId("acme"))
    for store, place, form, secret in finds:
        found.finds.by_place[store, place, form].add(secret)
    return found


@pytest.mark.parametrize(
    ("store", "place", "form", "is_declared"),
    [
        ("tables", "messages", Form.CLEAR, False),
        ("tables", "messages", Form.SEALED, False),
        ("tables", "users", Form.USER_KEY, False),
        ("kafka", "messages", Form.CLEAR, False),
        ("kafka", "messages", Form.TENANT_KEY, False),
        ("kafka", "messages", Form.SEALED, True),
        ("index", "", Form.CLEAR, False),
        ("logs", "processes", Form.CLEAR, False),
        ("objects", "uploads", Form.CLEAR, False),
        ("objects", "exports", Form.CLEAR, True),
    ],
)
def test_a_find_that_is_not_declared_is_a_violation(
    store: str,
    place: str,
    form: Form,
    is_declared: bool,  # noqa: FBT001 - a parameter
) -> None:
    before = searched((store, place, Form.CLEAR, SECRET), (store, place, Form.CLEAR, KEPT_SECRET))
    after = searched((store, place, form, SECRET), (store, place, Form.CLEAR, KEPT_SECRET))
    found = result_of(before.finds, after, planted=after.index, took_s=0)
    assert bool(found.broken) != is_declared
    assert bool(found.found_in_clear + found.opened_by_a_key + found.sealed) != is_declared
    assert bool(found.declared) == is_declared


def test_a_search_that_finds_too_little_is_a_violation() -> None:
    both = searched(("kafka", "", Form.CLEAR, SECRET), ("kafka", "", Form.CLEAR, KEPT_SECRET))
    kept = searched(("kafka", "", Form.CLEAR, KEPT_SECRET))
    assert result_of(both.finds, kept, planted=both.index, took_s=0).broken == []
    assert result_of(kept.finds, kept, planted=both.index, took_s=0).broken != [], "not found before"
    assert result_of(both.finds, searched(), planted=both.index, took_s=0).broken != [], "blind after"


@pytest.mark.long
@pytest.mark.deadline(900.0)
async def test_no_stored_byte_has_a_secret_of_an_erased_user(
    installation: InstallationProcesses, own_fleet: StartEngines
) -> None:
    bucket_engine = own_fleet(StartRequest(engines=frozenset({Engine.S3})))
    found = await run(installation, bucket_engine, count=60)
    assert found.broken == []
    assert found.found_in_clear + found.opened_by_a_key + found.sealed == 0
    for store in ("tables", "change stream", "kafka", "objects", "index", "files of seaweedfs"):
        assert found.found_before[store] > 0, f"{store}: nothing is found before the erasure"
        assert found.kept[store] > 0, f"{store}: nothing of another user is found after it"
    assert found.kept["valkey"] > 0


@pytest.mark.long
@pytest.mark.deadline(900.0)
@pytest.mark.parametrize("mutant", ERASURE_MUTANTS)
async def test_an_erasure_that_skips_a_part_is_detected(
    installation: InstallationProcesses, own_fleet: StartEngines, mutant: str
) -> None:
    bucket_engine = own_fleet(StartRequest(engines=frozenset({Engine.S3})))
    assert (await run(installation, bucket_engine, count=60, mutant=mutant)).broken
