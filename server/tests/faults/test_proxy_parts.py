"""The pure parts of the proxy: frequencies, matching, parsing of requests, splitting of batches."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.proxy import Always, Between, Chance, Every, Match, Times
from faults.proxy.dynamo_request import Body, Request, ShardIterators
from faults.proxy.frequency import Frequency
from faults.proxy.http_message import Message
from faults.proxy.unprocessed import merge, split

STREAM = "arn:aws:dynamodb:ddblocal:000000000000:table/messages/stream/2026-11-15T02:15:00.277"


def parsed(operation: str, body: Body, iterators: ShardIterators | None = None) -> Request:
    headers = {b"x-amz-target": f"DynamoDB_20120810.{operation}".encode()}
    message = Message(b"", b"POST / HTTP/1.1", headers, json.dumps(body).encode())
    return Request(message, iterators or ShardIterators())


@pytest.mark.parametrize(
    ("dose", "struck"),
    [
        (Always(), [1, 2, 3, 4, 5, 6]),
        (Times(2), [1, 2]),
        (Times(2, after=3), [4, 5]),
        (Every(3), [3, 6]),
        (Chance(0.0, seed=1), []),
        (Chance(1.0, seed=1), [1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_frequency_hits_these_of_six(dose: Frequency, struck: list[int]) -> None:
    assert [nth for nth in range(1, 7) if dose.strikes(nth)] == struck


def test_a_chance_has_its_probability_and_is_reproducible_by_seed() -> None:
    first, again, other = (
        [Chance(0.2, seed=seed).strikes(nth) for nth in range(1, 5001)] for seed in (7, 7, 8)
    )
    assert 900 < sum(first) < 1100
    assert first == again
    assert first != other


def test_a_range_stays_within_its_bounds_and_is_reproducible_by_seed() -> None:
    drawn = [Between(0.1, 0.2, seed=3).seconds(nth) for nth in range(1, 101)]
    assert all(0.1 <= seconds <= 0.2 for seconds in drawn)
    assert len(set(drawn)) == 100
    assert drawn == [Between(0.1, 0.2, seed=3).seconds(nth) for nth in range(1, 101)]


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        ({"TableName": "messages"}, ("messages",)),
        ({"TableName": STREAM}, ("messages",)),
        ({"StreamArn": STREAM}, ("messages",)),
        ({"RequestItems": {"messages": [], "chats": []}}, ("messages", "chats")),
        (
            {
                "TransactItems": [
                    {"Put": {"TableName": "messages"}},
                    {"ConditionCheck": {"TableName": "chats"}},
                    {"Update": {"TableName": "messages"}},
                ]
            },
            ("messages", "chats"),
        ),
        ({"TransactItems": [{"Get": {"TableName": "messages"}}]}, ("messages",)),
        ({}, ()),
        ({"TransactItems": "none"}, ()),
        ({"TransactItems": [{"Put": {}}]}, ()),
        ({"RequestItems": 3}, ()),
    ],
)
def test_a_request_names_its_tables_once_each(body: Body, tables: tuple[str, ...]) -> None:
    assert parsed("Any", body).tables == tables


def test_the_table_of_a_shard_iterator_is_learnt_from_the_answer_that_gave_it() -> None:
    iterators = ShardIterators()
    asked = parsed("GetShardIterator", {"StreamArn": STREAM}, iterators)
    iterators.learn(asked, Message(b"", b"", {}, b'{"ShardIterator":"one"}'))
    first = parsed("GetRecords", {"ShardIterator": "one"}, iterators)
    assert first.tables == ("messages",)
    iterators.learn(first, Message(b"", b"", {}, b'{"Records":[],"NextShardIterator":"two"}'))
    assert parsed("GetRecords", {"ShardIterator": "two"}, iterators).tables == ("messages",)
    assert parsed("GetRecords", {"ShardIterator": "unknown"}, iterators).tables == ()


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"\xff"])
def test_a_body_that_is_not_a_json_object_matches_as_an_empty_one(raw: bytes) -> None:
    request = Request(Message(b"", b"", {}, raw), ShardIterators())
    assert (request.operation, request.tables, request.body) == ("", (), {})
    assert Match().holds(request)
    assert not Match(tables={"messages"}).holds(request)


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        (Match(), True),
        (Match(operations={"PutItem", "GetItem"}), True),
        (Match(operations={"GetItem"}), False),
        (Match(tables={"messages"}), True),
        (Match(tables={"chats"}), False),
        (Match(where=lambda body: body["Item"]["pk"] == {"S": "a"}), True),
        (Match(where=lambda body: body["Item"]["pk"] == {"S": "b"}), False),
        (Match(operations={"PutItem"}, tables={"chats"}), False),
        (Match(operations={"PutItem"}, tables={"messages"}, where=lambda _: False), False),
    ],
)
def test_a_match_holds_if_all_of_it_does(match: Match, *, holds: bool) -> None:
    put = parsed("PutItem", {"TableName": "messages", "Item": {"pk": {"S": "a"}}})
    assert match.holds(put) is holds


def test_a_match_on_a_string_instead_of_a_set_is_refused() -> None:
    with pytest.raises(TypeError, match="operations is a set of names"):
        Match(operations="PutItem")  # type: ignore[arg-type]  # the mistake that this test is about


BATCHES = st.dictionaries(st.text(min_size=1), st.lists(st.integers(), min_size=1), min_size=1)


@given(lists=BATCHES, left=st.integers(0, 30), is_read=st.booleans())
def test_a_split_batch_is_whole_again_when_it_is_merged(
    lists: dict[str, list[int]], left: int, *, is_read: bool
) -> None:
    read = {table: {"Keys": items, "ConsistentRead": True} for table, items in lists.items()}
    batch = {**read} if is_read else {**lists}
    done, rest = split(batch, left)
    assert merge(done, rest) == batch
    total = sum(map(len, lists.values()))
    undone = sum(len(entry["Keys"] if is_read else entry) for entry in rest.values())
    assert undone == min(left, total)
    assert all(entry not in ([], {"Keys": [], "ConsistentRead": True}) for entry in done.values())
