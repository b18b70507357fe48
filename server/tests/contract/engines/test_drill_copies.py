"""Copies for drills: which tables are copied, what a copy lacks, and which messages it has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from faults.clients import dynamodb
from fixtures.engines import Dynamo
from fixtures.tables import make_tables

from tidings.drills.copies import StoredMessage, find_lost_entries, newest_messages, replicate_tables
from tidings.drills.model import LostEntries
from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest

_PREFIX = "test-drills-"
_REQUEST = StartRequest(engines=frozenset({Engine.DYNAMO}), dynamo="dynoxide", on_disk=True)
pytestmark = pytest.mark.skipif(
    not dynoxide.is_installed(default_cache()), reason="dynoxide is not built on this machine"
)


class Store(NamedTuple):
    url: str
    database: Path

    def put(self, table: str, **item: str | int) -> None:
        attributes = {name: {"N": str(v)} if isinstance(v, int) else {"S": v} for name, v in item.items()}
        dynamodb(self.url).put_item(TableName=_PREFIX + table, Item=attributes)

    def say(self, sequence: int, at: str, *, chat: str = "acme#lunch") -> None:
        self.put("messages", chat_id=chat, sequence=sequence, kind="message", sender_id="anna", created_at=at)

    def count(self, table: str) -> int:
        return int(dynamodb(self.url).scan(TableName=_PREFIX + table, Select="COUNT")["Count"])


@contextmanager
def store(home: Path) -> Iterator[Store]:
    cluster = LocalCluster(home, default_cache(), dies_with_us=True)
    try:
        (engine,) = cluster.start(_REQUEST)
        url = f"http://{engine.node.address}"
        for _ in make_tables(Dynamo("dynoxide", url), _PREFIX):
            yield Store(url, dynoxide.database(engine.node))
    finally:
        cluster.stop()


def test_a_copy_has_the_tables_of_a_standby_region_and_lacks_what_was_written_later(tmp_path: Path) -> None:
    with store(tmp_path / "production") as production, store(tmp_path / "scratch") as scratch:
        production.say(1, "2026-11-19T10:00:00.000Z")
        production.say(2, "2026-11-19T10:00:01.000Z")
        production.put("users", user_id="acme#anna", phone_number="acme#+491")
        production.put("sessions", session_id="acme#s", user_id="acme#anna")
        scratch.put("users", user_id="acme#ben")
        replicate_tables(production.database, scratch.database, _PREFIX)
        assert [scratch.count(table) for table in ("messages", "users", "sessions")] == [2, 1, 0]
        found = dynamodb(scratch.url).query(
            TableName=_PREFIX + "users",
            IndexName="phone_number-index",
            KeyConditionExpression="phone_number = :phone",
            ExpressionAttributeValues={":phone": {"S": "acme#+491"}},
        )
        assert found["Count"] == 1
        until = "2026-11-19T10:00:05.000Z"
        assert find_lost_entries(production.database, scratch.database, _PREFIX, until) == LostEntries(
            entries=0
        )
        for sequence in (3, 4, 5):
            production.say(sequence, f"2026-11-19T10:00:0{sequence}.500Z")
        assert find_lost_entries(production.database, scratch.database, _PREFIX, until) == LostEntries(
            entries=2, oldest_at="2026-11-19T10:00:03.500Z"
        )
        assert newest_messages(scratch.database, _PREFIX) == [
            StoredMessage("acme", "lunch", 2, "anna"),
            StoredMessage("acme", "lunch", 1, "anna"),
        ]
