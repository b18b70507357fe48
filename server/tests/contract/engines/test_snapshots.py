"""Snapshots of engines on one machine: consistent while writers run, restorable, and refused when they are damaged."""

import signal
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from contract.telemetry.running import eventually
from fixtures.fork_server import TIDINGS, tidings_environment
from types_boto3_dynamodb import DynamoDBClient

from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.engines.snapshots import delete_old_snapshots, restore_snapshot, take_snapshot
from tidings.kernel.errors import TidingsError

ON_DISK = StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo="dynoxide", on_disk=True)
pytestmark = pytest.mark.skipif(
    not dynoxide.is_installed(default_cache()), reason="dynoxide is not built on this machine"
)


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    return LocalCluster(tmp_path / "engines", default_cache(), dies_with_us=True)


def client(cluster: LocalCluster) -> DynamoDBClient:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://{cluster.find('dynamo').node.address}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def make_table(db: DynamoDBClient) -> None:
    db.create_table(
        TableName="things",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def stored(db: DynamoDBClient) -> set[int]:
    pages = db.get_paginator("scan").paginate(TableName="things")
    return {int(item["id"]["S"]) for page in pages for item in page["Items"]}


def test_a_snapshot_under_load_has_every_write_that_was_acknowledged_before_it(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    cluster.start(ON_DISK)
    try:
        db, acked, ended = client(cluster), list[int](), threading.Event()
        make_table(db)

        def write() -> None:
            while not ended.is_set():
                db.put_item(TableName="things", Item={"id": {"S": str(len(acked))}})
                acked.append(len(acked))

        writer = threading.Thread(target=write)
        writer.start()
        eventually(lambda: len(acked) > 100 or None, "100 writes")
        before = len(acked)
        taken = take_snapshot(cluster, tmp_path / "snapshots", datetime.now(UTC))
        eventually(lambda: len(acked) > before + 100 or None, "100 more writes")
        ended.set()
        writer.join()
        with pytest.raises(TidingsError, match="engines run"):
            restore_snapshot(cluster, taken.path)
        cluster.stop()
        restored = restore_snapshot(cluster, taken.path)
        assert restored.at == taken.at
        cluster.start(ON_DISK)
        found = stored(client(cluster))
        assert set(range(before)) <= found
        assert found < set(acked), "writes after the snapshot are part of it"
        assert found == set(range(len(found))), "the snapshot has a hole"
    finally:
        cluster.stop()


def test_a_damaged_snapshot_changes_nothing(cluster: LocalCluster, tmp_path: Path) -> None:
    cluster.start(ON_DISK)
    try:
        make_table(client(cluster))
        client(cluster).put_item(TableName="things", Item={"id": {"S": "1"}})
        taken = take_snapshot(cluster, tmp_path, datetime.now(UTC))
        cluster.stop()
        data = bytearray(taken.path.read_bytes())
        damaged = tmp_path / "damaged.tar"
        damaged.write_bytes(data[: len(data) // 2])
        with pytest.raises(TidingsError, match="cannot be used"):
            restore_snapshot(cluster, damaged)
        middle = data.index(b"SQLite format 3")
        data[middle : middle + 4096] = bytes(4096)
        damaged.write_bytes(data)
        with pytest.raises(TidingsError, match="cannot be used"):
            restore_snapshot(cluster, damaged)
        cluster.start(ON_DISK)
        assert stored(client(cluster)) == {1}
    finally:
        cluster.stop()


def test_a_snapshot_of_an_engine_in_memory_is_refused(cluster: LocalCluster, tmp_path: Path) -> None:
    with pytest.raises(TidingsError, match="needs dynoxide on disk"):
        take_snapshot(cluster, tmp_path, datetime.now(UTC))


def test_old_snapshots_are_deleted(tmp_path: Path) -> None:
    names = [f"2026-11-{day:02}T000000Z.tar" for day in range(1, 6)]
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in delete_old_snapshots(tmp_path, 2)] == names[:3]
    assert sorted(path.name for path in tmp_path.iterdir()) == names[3:]


@pytest.mark.long
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_engines_in_the_foreground_keep_their_data(tmp_path: Path, by: signal.Signals) -> None:
    """After kill -9 of the command and of the engine, the next start uses the data and the port of the first."""
    # Addresses that are set elsewhere are not started here.
    environment = tidings_environment(
        {"TIDINGS_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9", "TIDINGS_REDIS_URL": "redis://127.0.0.1:9"}
    )
    cluster = LocalCluster(tmp_path / ".tidings", default_cache())

    def run() -> subprocess.Popen[bytes]:
        started = subprocess.Popen(
            [*TIDINGS, "engines", "run"], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
        )
        eventually(lambda: True if (cluster.home / "endpoints.toml").exists() else None, "engines")
        return started

    first = run()
    try:
        make_table(client(cluster))
        client(cluster).put_item(TableName="things", Item={"id": {"S": "1"}})
        first.send_signal(by)
        assert first.wait(60) == (0 if by is signal.SIGTERM else -by)
        if by is signal.SIGKILL:
            cluster.kill("dynamo")
            (cluster.home / "endpoints.toml").unlink()
        second = run()
        assert stored(client(cluster)) == {1}
        cluster.kill("dynamo")
        assert second.wait(60) != 0, "the command goes on without its engine"
    finally:
        cluster.stop()
